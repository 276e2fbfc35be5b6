// Sends the same traffic to both sides and counts the results by the lab's ledger. A Lockstep
// replica reports the tried pods in its access log, a stock replica in a response header.
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import { replicas, type SideName } from "../../../lab/comparison/side.ts";
import type { Ledger } from "../../../lab/kubelet/ledger.ts";
import { shopHost } from "../../../lab/shop.ts";
import { readAccessLog } from "../../../lab/traffic/access-log.ts";
import { lossOf, type Tally, tallyOf } from "../../../lab/traffic/tally.ts";
import type { TrafficResult } from "../../../lab/traffic/traffic-result.ts";
import { TrafficSource } from "../../../lab/traffic/traffic-source.ts";
import type { IngressSide } from "./ingress-side.ts";

export interface TrafficCountOptions {
  readonly environment: Environment;
  readonly sides: readonly IngressSide[];
  readonly ledger: Ledger;
  /** Contains the folders of the replicas. */
  readonly folder: string;
}

/** Low, because the machine also runs three clusters and six proxies. */
export const requestsPerSecond = 25;

/** One hour at that rate. */
const resultsMax = 90_000;

export class TrafficCount {
  readonly #options: TrafficCountOptions;
  readonly #source: TrafficSource;
  readonly #totals = { stock: { requests: 0, lost: 0 }, lockstep: { requests: 0, lost: 0 } };
  /** In the order in which they ended. */
  #results: TrafficResult[] = [];

  constructor(options: TrafficCountOptions) {
    this.#options = options;
    const { environment, sides } = options;
    this.#source = new TrafficSource({
      ...environment,
      entries: sides.map(({ name, entry }) => ({ name, url: entry.url })),
      requestsPerSecond,
      hosts: [shopHost],
      onResult: (result) => this.#take(result),
    });
  }

  start(): void {
    this.#source.start();
  }

  async stop(): Promise<void> {
    await this.#source.stop();
  }

  /** Since the start. */
  total(side: SideName): Pick<Tally, "requests" | "lost"> {
    return this.#totals[side];
  }

  /** A count of its own, from now on. */
  window(): TrafficWindow {
    const { environment, ledger } = this.#options;
    return new TrafficWindow({
      ...environment,
      ledger,
      resultsSince: (since) => this.#resultsSince(since),
      accessLogs: () => this.#accessLogs(),
    });
  }

  #take(result: TrafficResult): void {
    this.#results.push(result);
    if (this.#results.length > 2 * resultsMax) this.#results = this.#results.slice(-resultsMax);
    const total = result.entry === "stock" ? this.#totals.stock : this.#totals.lockstep;
    total.requests += 1;
    if (lossOf(result) !== undefined) total.lost += 1;
  }

  #resultsSince(since: MonotonicMs): readonly TrafficResult[] {
    const last = this.#results.findLastIndex(({ doneAt }) => doneAt < since);
    return this.#results.slice(last + 1);
  }

  async #accessLogs(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { environment, folder } = this.#options;
    const all = new Map<string, readonly string[]>();
    for (let number = 1; number <= replicas; number += 1) {
      const path = `${folder}/lockstep-${number}/logs/access.log`;
      const content = await environment.files.read(path);
      if (content === undefined) continue;
      const entries = readAccessLog(Buffer.from(content).toString("utf8"));
      for (const [target, upstreams] of entries) all.set(target, upstreams);
    }
    return all;
  }
}

interface TrafficWindowOptions extends Pick<Environment, "clock"> {
  readonly ledger: Ledger;
  readonly resultsSince: (since: MonotonicMs) => readonly TrafficResult[];
  /** The addresses that Lockstep tried, by the target of the request. */
  readonly accessLogs: () => Promise<ReadonlyMap<string, readonly string[]>>;
}

/** The results since an instant; several windows do not disturb each other. */
export class TrafficWindow {
  readonly #options: TrafficWindowOptions;
  #since: MonotonicMs;

  constructor(options: TrafficWindowOptions) {
    this.#options = options;
    this.#since = options.clock.monotonicMs();
  }

  /** Counts from zero; requests in progress are still counted. */
  reset(): void {
    this.#since = this.#options.clock.monotonicMs();
  }

  /** Lost requests only; they are known immediately. */
  lost(side: SideName): Pick<Tally, "requests" | "lost"> {
    return tallyOf(this.#results(side), { lives: this.#options.ledger });
  }

  async tally(side: SideName): Promise<Tally> {
    const { ledger, accessLogs } = this.#options;
    const upstreams = side === "lockstep" ? await accessLogs() : new Map();
    return tallyOf(this.#results(side), {
      lives: ledger,
      upstreamsOf: ({ target }) => upstreams.get(target),
    });
  }

  #results(side: SideName): readonly TrafficResult[] {
    return this.#options.resultsSince(this.#since).filter(({ entry }) => entry === side);
  }
}
