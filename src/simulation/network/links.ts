// Every link of the simulated network, made when two machines first meet. Each draws its latencies
// from a stream of its own, so that traffic elsewhere does not shift them.
import { SeededRandom } from "../seeded-random.ts";
import { type Latency, Link, uniformLatency } from "./link.ts";
import type { Machine } from "./machine.ts";

/** Within one machine. */
const loopbackLatency = uniformLatency(0.02, 0.05);

export class Links {
  readonly #seed: number;
  readonly #latency: Latency;
  readonly #links = new Map<Machine, Map<Machine, Link>>();

  constructor(options: { seed: number; latency: Latency }) {
    this.#seed = options.seed;
    this.#latency = options.latency;
  }

  between(from: Machine, to: Machine): Link {
    let outgoing = this.#links.get(from);
    if (outgoing === undefined) {
      outgoing = new Map();
      this.#links.set(from, outgoing);
    }
    let link = outgoing.get(to);
    if (link === undefined) {
      const random = new SeededRandom({ seed: this.#seed, name: `link ${from.name} ${to.name}` });
      const latency = from === to ? loopbackLatency : this.#latency;
      link = new Link({ from, to, random, latency });
      outgoing.set(to, link);
    }
    return link;
  }

  *all(): Iterable<Link> {
    for (const outgoing of this.#links.values()) yield* outgoing.values();
  }

  /** Those that begin or end at a machine. */
  *of(machine: Machine): Iterable<Link> {
    for (const link of this.all()) {
      if (link.from === machine || link.to === machine) yield link;
    }
  }
}
