// Only for tests: requests to the addresses of pods that are there or were a short time ago, and an
// access log that tells of each a little later, of two not always in the order in which they were sent.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { Witness } from "../../src/timeline/witness.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import { observerHost, type ProofRun } from "./proof-run.ts";
import { services } from "./proof-services.ts";
import { fromKey } from "./reported-endpoints.ts";
import type { UnderWay } from "./under-way.ts";

export interface ProofTrafficOptions {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly underWay: UnderWay;
  readonly clusters: readonly ProofCluster[];
  /** The run that is going on. */
  readonly run: () => ProofRun;
}

export const logWitness: Witness = { hop: "traffic", name: "log" };

/** No request is sent to an address that has had no pod for so long. */
const rememberedMs = 30_000;

/** A line is written when its request is over. */
const reportedLateMs = 1_000;

export class ProofTraffic {
  readonly #options: ProofTrafficOptions;

  constructor(options: ProofTrafficOptions) {
    this.#options = options;
  }

  /** The log speaks for all services from now on. */
  begin(): void {
    const run = this.#options.run();
    run.logBeganAt = this.#now();
    for (const { path: service } of services) {
      run.observer.sink.follow(logWitness, { cluster: undefined, service });
    }
  }

  /** Sends a request. */
  send(): void {
    const { random, underWay } = this.#options;
    const run = this.#options.run();
    const keys = this.#keys();
    const key = keys[randomInt(random, keys.length)];
    if (key === undefined) return;
    const { service, address, port } = fromKey(key);
    const at = this.#now();
    const failed = !this.#options.clusters.some(({ truth }) => truth.keysAt("pod").has(key));
    const named = random.next() < 0.8 ? service : undefined;
    underWay.later(randomBetween(random, 0, reportedLateMs), async () => {
      // A new reader of a log does not see earlier lines.
      if (run !== this.#options.run() || run.endedAt < this.#now()) return;
      const request = { service: named, address, port, at, failed };
      run.requests?.push({ ...request, reportedAt: this.#now() });
      run.observer.traffic({ witness: logWitness, ...request });
    });
  }

  /** Of those who have their address and of those who have just lost it. */
  #keys(): readonly string[] {
    const since = this.#now() - rememberedMs;
    const keys = this.#options.clusters.flatMap(({ truth }) => [
      ...truth.keysAt("pod"),
      ...truth.changes.filter(({ hop, at }) => hop === "pod" && at > since).map(({ key }) => key),
    ]);
    return [...new Set(keys)];
  }

  #now(): MonotonicMs {
    return this.#options.simulation.host(observerHost).clock.monotonicMs();
  }
}
