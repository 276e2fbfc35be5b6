// A cluster of some API servers on one storage, with writers, and the reflectors that watch it from
// other machines, in virtual time. `check` asks at any instant whether every property holds, and
// fails the run with the plan of faults when one does not.

import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { deadPeerMs } from "../../src/environment/network.ts";
import { type FaultPlan, printFaultPlan } from "../../src/simulation/faults.ts";
import { uniformLatency } from "../../src/simulation/network/link.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { Observed, type ObservedOptions } from "./reflector-observed.ts";
import { violation } from "./reflector-properties.ts";
import { TestServer } from "./reflector-servers.ts";
import { Writers } from "./reflector-writers.ts";

export interface ClusterOptions {
  readonly serverNames: readonly string[];
  readonly clientNames: readonly string[];
  /** Changes the storage remembers; the usual number unless given. */
  readonly historyLimit?: number | undefined;
  readonly expiredWatchAnswer: "event" | "status";
  readonly meanBetweenWritesMs: number;
}

/** From one data centre to another continent. */
const usualLatenciesMs = [1, 30, 300];

/** The slowest message of a fault plan: data sent before an end may arrive this much later. */
const longestLatencyMs = 2_000;

/** A property does not hold. */
export class PropertyError extends Error {
  override readonly name = "PropertyError";
  readonly code = "PROPERTY";
}

export class Cluster {
  readonly simulation: Simulation;
  readonly servers: readonly TestServer[];
  readonly writers: Writers;
  readonly observed: Observed[] = [];
  readonly #storage: MemoryStorage;
  /** Since when messages pass, by client's machine and server. */
  readonly #openSince = new Map<string, number>();
  #plan: FaultPlan = { faults: [], quietAfterMs: 0 };

  constructor(simulation: Simulation, options: ClusterOptions) {
    this.simulation = simulation;
    const environment = simulation.host("storage");
    const { clock } = environment;
    const { historyLimit, meanBetweenWritesMs, clientNames, expiredWatchAnswer } = options;
    const storage = new MemoryStorage({
      clock,
      ...(historyLimit === undefined ? {} : { historyLimit }),
    });
    this.#storage = storage;
    this.writers = new Writers({ environment, storage, meanBetweenMs: meanBetweenWritesMs });
    this.servers = options.serverNames.map(
      (name) => new TestServer({ simulation, storage, name, clientNames, expiredWatchAnswer }),
    );
  }

  /** To be called before the cluster starts, so that nothing of the truth is missed. */
  observe(options: Omit<ObservedOptions, "storage" | "environment">): Observed {
    const environment = this.simulation.host(options.host);
    const observed = new Observed({ ...options, environment, storage: this.#storage });
    this.observed.push(observed);
    return observed;
  }

  async start(): Promise<void> {
    await this.writers.start();
    for (const server of this.servers) {
      await server.start();
    }
  }

  async stop(): Promise<void> {
    await this.writers.stop();
    await Promise.all(this.observed.map(({ reflector }) => reflector.stop()));
    for (const server of this.servers) {
      await server.goDown("stop");
    }
  }

  /** Sets the faults going from now on; they are shown when a property does not hold. */
  apply(plan: FaultPlan): void {
    const { simulation } = this;
    const startMs = simulation.now();
    this.#plan = plan;
    for (const fault of plan.faults) {
      simulation.at(startMs + fault.atMs, () => {
        fault.begin(simulation);
        this.#noteWays();
      });
      simulation.at(startMs + fault.untilMs, () => {
        fault.end(simulation);
        this.#noteWays();
      });
    }
  }

  /** Throws when a property does not hold of some reflector now. */
  check(): void {
    const nowMs = this.simulation.now();
    for (const observed of this.observed) {
      const unreachableSinceMs = this.#unreachableSince(observed);
      const problem = violation(observed, { nowMs, unreachableSinceMs });
      if (problem !== undefined) {
        this.fail(observed, problem);
      }
    }
  }

  fail(observed: Observed, problem: string): never {
    const { reflector } = observed;
    const { reason = "fresh", resourceVersion, currentAtMs } = reflector.freshness();
    throw new PropertyError(
      [
        `at ${this.simulation.now()} ms: ${problem}`,
        `of ${observed.describe()}`,
        `${reflector.state} at ${resourceVersion}, current as of ${currentAtMs}, ${reason}`,
        "plan:",
        printFaultPlan(this.#plan),
      ].join("\n"),
    );
  }

  /** With several servers, since when the last of them is unreachable. */
  #unreachableSince({ options }: Observed): number | undefined {
    const since = options.servers.map((server) => this.#silentSince(options.host, server));
    return since.reduce((latest, one) =>
      latest === undefined || one === undefined ? undefined : Math.max(latest, one),
    );
  }

  #silentSince(host: string, server: TestServer): number | undefined {
    const closedSinceMs = this.#closedSince(host, server);
    const { downSinceMs } = server;
    if (closedSinceMs !== undefined || downSinceMs === undefined) {
      return closedSinceMs;
    }
    // Earlier data of the server, and the news of its end, arrive as soon as messages pass.
    const openSinceMs = this.#openSince.get(`${host} ${server.name}`) ?? 0;
    return Math.max(downSinceMs, openSinceMs) + longestLatencyMs;
  }

  #closedSince(host: string, server: TestServer): number | undefined {
    const { network } = this.simulation;
    const [client, machine] = [network.machine(host), network.machine(server.name)];
    const there = network.link(client, machine).partitionedSinceMs ?? Number.POSITIVE_INFINITY;
    const back = network.link(machine, client).partitionedSinceMs ?? Number.POSITIVE_INFINITY;
    // A client that cannot reach the server still receives from it, until the connection counts as
    // dead.
    const closedSinceMs = Math.min(there + deadPeerMs, back);
    return closedSinceMs === Number.POSITIVE_INFINITY ? undefined : closedSinceMs;
  }

  #noteWays(): void {
    for (const { options } of this.observed) {
      for (const server of options.servers) {
        const way = `${options.host} ${server.name}`;
        if (this.#closedSince(options.host, server) !== undefined) {
          this.#openSince.delete(way);
        } else if (!this.#openSince.has(way)) {
          this.#openSince.set(way, this.simulation.now());
        }
      }
    }
  }
}

export function inCluster(
  seed: number,
  options: (simulation: Simulation) => ClusterOptions,
  run: (cluster: Cluster) => Promise<void>,
): Promise<void> {
  const maxLatencyMs = usualLatenciesMs[seed % usualLatenciesMs.length] ?? 1;
  const latency = uniformLatency(0.2, maxLatencyMs);
  return simulate({ seed, latency }, async (simulation) => {
    const cluster = new Cluster(simulation, options(simulation));
    await run(cluster);
    await cluster.stop();
  });
}
