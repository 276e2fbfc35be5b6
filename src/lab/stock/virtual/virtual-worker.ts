// One modelled nginx worker: the backends it has read, and its own place in the rotation of each.
// Like lua-resty-balancer's round robin it begins at a random peer whenever the list changes, and a
// retry takes the next peer, whichever it is: a dead one is not remembered.
import { type Random, randomInt } from "../../../environment/random.ts";
import type { StockBackend, StockEndpoint } from "../stock-configuration.ts";

interface Rotation {
  readonly endpoints: readonly StockEndpoint[];
  next: number;
}

export class VirtualWorker {
  readonly #random: Random;
  /** By the backend's name; one without endpoints is not in it. */
  readonly #rotations = new Map<string, Rotation>();

  constructor(options: { readonly random: Random }) {
    this.#random = options.random;
  }

  /** Loads the result of a poll. */
  load(backends: readonly StockBackend[]): void {
    const before = new Map(this.#rotations);
    this.#rotations.clear();
    for (const { name, endpoints } of backends) {
      if (endpoints.length === 0) continue;
      const known = before.get(name);
      const isSame = JSON.stringify(known?.endpoints) === JSON.stringify(endpoints);
      const next = randomInt(this.#random, endpoints.length);
      this.#rotations.set(name, known !== undefined && isSame ? known : { endpoints, next });
    }
  }

  /** Undefined for a backend that is unknown or has no endpoint. */
  pick(backend: string): StockEndpoint | undefined {
    const rotation = this.#rotations.get(backend);
    if (rotation === undefined) return undefined;
    const endpoint = rotation.endpoints[rotation.next];
    rotation.next = (rotation.next + 1) % rotation.endpoints.length;
    return endpoint;
  }
}
