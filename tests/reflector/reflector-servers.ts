// For tests only: the API servers of one cluster on simulated machines, which crash, vanish and
// come back on the same storage. Faults of a server are kept here, because they outlast a restart.
import { Registry } from "prom-client";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import type { Capacity, FaultRule } from "../../src/apiserver/faults.ts";
import type { ChooseWatches } from "../../src/apiserver/listwatch/cache-faults.ts";
import type { Storage } from "../../src/apiserver/storage/storage.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";

const port = 80;
/** Clients are distinguished by their token, which is also their name. */
const tokenSuffix = "-token";

export interface TestServerOptions {
  readonly simulation: Simulation;
  readonly storage: Storage;
  /** Of the server and of its machine. */
  readonly name: string;
  readonly clientNames: readonly string[];
  readonly expiredWatchAnswer: "event" | "status";
}

/**
 * How a server ends: in an orderly way, by a crash of its process, or by a crash of its machine.
 */
export type Departure = "stop" | "crash" | "vanish";

export class TestServer {
  readonly #options: TestServerOptions;
  readonly #rules = new Set<FaultRule>();
  #server: ApiServer | undefined;
  #capacity: Capacity | undefined;
  #cacheLagMs = 0;
  #stalledWatches: ChooseWatches | undefined;
  #downSinceMs: number | undefined;

  constructor(options: TestServerOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Undefined while it runs. */
  get downSinceMs(): number | undefined {
    return this.#downSinceMs;
  }

  /** Does nothing while it runs. */
  async start(): Promise<void> {
    const { simulation, storage, name, clientNames } = this.#options;
    if (this.#server !== undefined) {
      return;
    }
    this.#downSinceMs = undefined;
    const server = new ApiServer({
      ...simulation.host(name),
      storage,
      name,
      gitVersion: "v1.36.0",
      authentication: {
        tokens: new Map(
          clientNames.map((client) => [`${client}${tokenSuffix}`, { name: client, groups: [] }]),
        ),
      },
      metrics: new Registry(),
    });
    this.#server = server;
    this.#applyFaults();
    await server.start({ host: name, port });
  }

  /** Does nothing while it is down. */
  async goDown(how: Departure): Promise<void> {
    const { simulation, name } = this.#options;
    const server = this.#server;
    if (server === undefined) {
      return;
    }
    this.#server = undefined;
    this.#downSinceMs = simulation.now();
    if (how !== "stop") {
      simulation.crash(name, { vanish: how === "vanish" });
    }
    // Of a crashed server too: its watches of the storage would go on.
    await server.stop();
  }

  /** Returns how to take the rule back. */
  addRule(rule: FaultRule): () => void {
    this.#rules.add(rule);
    this.#applyFaults();
    return () => {
      this.#rules.delete(rule);
      this.#applyFaults();
    };
  }

  setCapacity(capacity: Capacity | undefined): void {
    this.#capacity = capacity;
    this.#applyFaults();
  }

  setCacheLag(lagMs: number): void {
    this.#cacheLagMs = lagMs;
    this.#applyFaults();
  }

  stallWatches(chosen: ChooseWatches | undefined): void {
    this.#stalledWatches = chosen;
    this.#applyFaults();
  }

  resetWatches(): void {
    this.#server?.faults.cache.resetWatches();
  }

  /** A client on a machine, under its own name. */
  client(host: string, clientName: string): KubeClient {
    const { network, clock, timers, log } = this.#options.simulation.host(host);
    const cluster = fixedAccess({
      name: "test",
      server: `http://${this.name}:${port}`,
      token: `${clientName}${tokenSuffix}`,
    });
    return new HttpKubeClient({ network, clock, timers, log, cluster, userAgent: "test" });
  }

  #applyFaults(): void {
    const faults = this.#server?.faults;
    if (faults === undefined) {
      return;
    }
    faults.setRules([...this.#rules]);
    faults.setCapacity(this.#capacity);
    faults.cache.expiredWatchAnswer = this.#options.expiredWatchAnswer;
    faults.cache.cacheLagMs = this.#cacheLagMs;
    faults.cache.stalledWatches = this.#stalledWatches;
  }
}
