// Only for tests: a cluster that is a storage behind an API server. Objects are written straight into
// the storage, which knows when; the server may be slow, frozen, broken or started again.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import { ApiServer } from "../../lab/apiserver/api-server.ts";
import { allKinds } from "../../lab/apiserver/kinds/all-kinds.ts";
import { MemoryStorage } from "../../lab/apiserver/storage/memory-storage.ts";
import type { Simulation } from "../../simulation/simulation.ts";
import { type Resource, ToldEndpoints } from "./told-endpoints.contract.ts";

const prefixes: Readonly<Record<Resource, string>> = {
  services: "/registry/services/specs/",
  pods: "/registry/pods/",
  endpointslices: "/registry/endpointslices/",
};

const apis: Readonly<Record<Resource, RawRecord>> = {
  services: { apiVersion: "v1", kind: "Service" },
  pods: { apiVersion: "v1", kind: "Pod" },
  endpointslices: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
};

const tokens = new Map([["admin", { name: "admin", groups: ["system:masters"] }]]);

const served = new Set(["services", "pods", "endpointslices", "nodes", "namespaces"]);

export class ProofCluster {
  readonly name: string;
  /** What really happened. */
  readonly truth: ToldEndpoints;
  readonly #simulation: Simulation;
  readonly #storage: MemoryStorage;
  server: ApiServer;
  #uids = 0;

  constructor(simulation: Simulation, name: string) {
    this.name = name;
    this.#simulation = simulation;
    this.truth = new ToldEndpoints(name, { isWhole: true });
    this.#storage = new MemoryStorage({ ...simulation.host(name), historyLimit: 200 });
    this.server = this.#makeServer();
  }

  start(): Promise<unknown> {
    return this.server.start({ host: this.name, port: 6443 });
  }

  /** Its connections break, its cache begins anew. */
  async restart(): Promise<void> {
    await this.server.stop();
    this.server = this.#makeServer();
    await this.start();
  }

  newUid(): string {
    this.#uids += 1;
    return `${this.name}-uid-${this.#uids}`;
  }

  /** `namespace/name`. */
  async put(resource: Resource, path: string, object: RawRecord): Promise<void> {
    const key = prefixes[resource] + path;
    const { record } = await this.#storage.get(key);
    const stored = { ...apis[resource], ...object };
    const value = Buffer.from(JSON.stringify(stored));
    await this.#storage.put(key, value, record?.revision ?? 0);
    this.truth.told(resource, path, stored, this.#now());
  }

  async delete(resource: Resource, path: string): Promise<void> {
    const key = prefixes[resource] + path;
    const { record } = await this.#storage.get(key);
    if (record === undefined) return;
    await this.#storage.delete(key, record.revision);
    this.truth.told(resource, path, undefined, this.#now());
  }

  #now(): number {
    return this.#simulation.host(this.name).clock.monotonicMs();
  }

  #makeServer(): ApiServer {
    const environment = this.#simulation.host(this.name);
    return new ApiServer({
      ...environment,
      storage: this.#storage,
      name: this.name,
      gitVersion: "v1.33.1",
      authentication: { tokens },
      kinds: allKinds.filter(({ resource }) => served.has(resource)),
    });
  }
}
