// One direction between two simulated machines: how long a message takes, and whether it is cut or
// stalled. Faults are set on links; the channels of the exchanges that run over them ask.
import type { Random } from "../../environment/random.ts";
import { randomBetween } from "../../environment/random.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { Exchange } from "./exchange.ts";

/** Draws the time one message takes. */
export type Latency = (random: Random) => number;

export function uniformLatency(minMs: number, maxMs: number): Latency {
  return (random) => randomBetween(random, minMs, maxMs);
}

/** A machine as the network sees it. */
export interface NetworkNode {
  readonly name: string;
  /** Cut off from every other machine. */
  isolated: boolean;
  /** Switched off: it answers nothing, not even with a refusal. */
  vanished: boolean;
}

/** One chunk in so many is cut in two, so that no code relies on chunks arriving as written. */
const splitOneIn = 16;

export class Link {
  readonly from: NetworkNode;
  readonly to: NetworkNode;
  readonly #random: SeededRandom;
  /** Open exchanges whose client is at `from` and whose server is at `to`. */
  readonly exchanges = new Set<Exchange>();
  latency: Latency;
  /** Cut by hand, beside what isolation does. */
  cut = false;
  /** Exchanges that start now are stalled from the beginning. */
  stallsNew = false;
  /** When the present partition began. */
  partitionedSinceMs: number | undefined;

  constructor(options: {
    from: NetworkNode;
    to: NetworkNode;
    random: SeededRandom;
    latency: Latency;
  }) {
    this.from = options.from;
    this.to = options.to;
    this.#random = options.random;
    this.latency = options.latency;
  }

  /** No message arrives; the sender is not acknowledged. A machine always reaches itself. */
  get partitioned(): boolean {
    if (this.from === this.to) return false;
    return this.cut || this.from.isolated || this.to.isolated;
  }

  drawLatencyMs(): number {
    return Math.max(0, this.latency(this.#random));
  }

  /** Where to cut a chunk of this many bytes; undefined to leave it whole. */
  drawSplit(bytes: number): number | undefined {
    if (bytes < 2 || this.#random.next() * splitOneIn >= 1) return undefined;
    return 1 + Math.floor(this.#random.next() * (bytes - 1));
  }
}
