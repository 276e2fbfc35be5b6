// Only for tests: a cluster that is a storage behind an API server. Objects are written straight into
// the storage, which knows when; the server may be slow, frozen, broken or started again.

import { ApiServer } from "../../src/apiserver/api-server.ts";
import { allKinds } from "../../src/apiserver/kinds/all-kinds.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import type { RawRecord } from "../../src/kube/kinds/fields.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { PublishedForm } from "../../src/sources/published-form.ts";
import { ReportedEndpoints, type Resource, resources } from "./reported-endpoints.ts";

/** Where the storage keeps objects of each resource. */
export const storagePrefixes: Readonly<Record<Resource, string>> = {
  services: "/registry/services/specs/",
  pods: "/registry/pods/",
  endpointslices: "/registry/endpointslices/",
  endpoints: "/registry/services/endpoints/",
};

const apis: Readonly<Record<Resource, RawRecord>> = {
  services: { apiVersion: "v1", kind: "Service" },
  pods: { apiVersion: "v1", kind: "Pod" },
  endpointslices: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  endpoints: { apiVersion: "v1", kind: "Endpoints" },
};

const tokens = new Map([["admin", { name: "admin", groups: ["system:masters"] }]]);

const served = new Set<string>([...resources, "nodes", "namespaces"]);

/** The written part of an object; its metadata is added to it. */
export interface Written {
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: RawRecord;
  readonly body: RawRecord;
}

export class ProofCluster {
  readonly name: string;
  /** How it publishes. */
  readonly form: PublishedForm;
  /** The real events. */
  readonly truth: ReportedEndpoints;
  readonly #simulation: Simulation;
  readonly #storage: MemoryStorage;
  server: ApiServer;
  /** By the storage's key, of what is there. */
  readonly #objectUids = new Map<string, string>();
  #uids = 0;

  constructor(simulation: Simulation, name: string, form: PublishedForm) {
    this.name = name;
    this.form = form;
    this.#simulation = simulation;
    this.truth = new ReportedEndpoints(name, { form, isWhole: true });
    this.#storage = new MemoryStorage({ ...simulation.host(name), historyLimit: 200 });
    this.server = this.#makeServer();
  }

  start(): Promise<unknown> {
    return this.server.start({ host: this.name, port: 6443 });
  }

  /** Its connections break, and its cache starts empty. */
  async restart(): Promise<void> {
    await this.server.stop();
    this.server = this.#makeServer();
    await this.start();
  }

  newUid(): string {
    this.#uids += 1;
    return `${this.name}-uid-${this.#uids}`;
  }

  async has(resource: Resource, path: string): Promise<boolean> {
    const { record } = await this.#storage.get(storagePrefixes[resource] + path);
    return record !== undefined;
  }

  /** `namespace/name`; a deleted and created object is another one. */
  async put(resource: Resource, path: string, written: Written): Promise<void> {
    const key = storagePrefixes[resource] + path;
    const { record } = await this.#storage.get(key);
    const uids = this.#objectUids;
    if (record === undefined) uids.set(key, written.uid ?? this.newUid());
    const [namespace, name] = path.split("/");
    const { labels = {}, metadata = {}, body } = written;
    const own = { namespace, name, uid: uids.get(key), labels };
    const stored = {
      ...apis[resource],
      metadata: { ...own, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
      ...body,
    };
    const value = Buffer.from(JSON.stringify(stored));
    await this.#storage.put(key, value, record?.revision ?? 0);
    this.truth.reported(resource, path, stored, this.#now());
  }

  async delete(resource: Resource, path: string): Promise<void> {
    const key = storagePrefixes[resource] + path;
    const { record } = await this.#storage.get(key);
    if (record === undefined) return;
    await this.#storage.delete(key, record.revision);
    this.truth.reported(resource, path, undefined, this.#now());
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
