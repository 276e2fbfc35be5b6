// Sends the same traffic to both sides and counts the results by the lab's ledger. A Lockstep
// replica reports the tried pods in its access log, a stock replica in a response header.
import type { Environment } from "../../../environment/environment.ts";
import { replicas } from "../../../lab/comparison/side.ts";
import type { Ledger } from "../../../lab/kubelet/ledger.ts";
import { shopHost } from "../../../lab/shop.ts";
import { readAccessLog } from "../../../lab/traffic/access-log.ts";
import { type Tally, tallyOf } from "../../../lab/traffic/tally.ts";
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
  #results: TrafficResult[] = [];

  constructor(options: TrafficCountOptions) {
    this.#options = options;
    const { environment, sides } = options;
    this.#source = new TrafficSource({
      ...environment,
      entries: sides.map(({ name, entry }) => ({ name, url: entry.url })),
      requestsPerSecond,
      hosts: [shopHost],
      onResult: (result) => {
        this.#results.push(result);
        if (this.#results.length > 2 * resultsMax) this.#results = this.#results.slice(-resultsMax);
      },
    });
  }

  start(): void {
    this.#source.start();
  }

  async stop(): Promise<void> {
    await this.#source.stop();
  }

  /** Counts from zero; requests in progress are still counted. */
  reset(): void {
    this.#results = [];
  }

  /** Lost requests only; they are known immediately. */
  lost(side: IngressSide["name"]): Pick<Tally, "requests" | "lost"> {
    const results = this.#results.filter(({ entry }) => entry === side);
    return tallyOf(results, { lives: this.#options.ledger });
  }

  async tally(side: IngressSide["name"]): Promise<Tally> {
    const upstreams = side === "lockstep" ? await this.#accessLogs() : new Map();
    const results = this.#results.filter(({ entry }) => entry === side);
    return tallyOf(results, {
      lives: this.#options.ledger,
      upstreamsOf: ({ target }) => upstreams.get(target),
    });
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
