// The addresses of the pods of a cluster. Each pod has its own, from one network of the cluster: in
// 127.0.0.0/8 where pods are real servers, any other in a simulation. A released address rests before
// it is used again. Without a rest the next pod gets the address of the last one, as in a cluster that
// has no free addresses.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";

export interface PodAddressesOptions {
  readonly clock: Clock;
  /** The first two octets, `127.83`: two clusters must have different ones. */
  readonly network: string;
  /** How long an address rests; `defaultReuseAfterMs` unless given, 0 for reuse at once. */
  readonly reuseAfterMs?: number;
}

/** Long enough that no client still has it in a connection pool or a cache. */
const defaultReuseAfterMs = 300_000;

/** x.y.0.1 to x.y.254.254. API servers have x.y.255.z; last octets 0 and 255 are special elsewhere. */
const hostsPerOctet = 254;
const addressesPerNetwork = 255 * hostsPerOctet;

/** No address is free, and none has rested long enough. */
export class NoAddressError extends Error {
  override readonly name = "NoAddressError";
  readonly code = "NO_ADDRESS";
}

export class PodAddresses {
  readonly #options: PodAddressesOptions;
  readonly #reuseAfterMs: number;
  /** Addresses below this index were used at least once. */
  #next = 0;
  /** In the order of their release. None of them is in use. */
  readonly #resting = new Map<string, MonotonicMs>();

  constructor(options: PodAddressesOptions) {
    this.#options = options;
    this.#reuseAfterMs = options.reuseAfterMs ?? defaultReuseAfterMs;
  }

  /** A free address: one that has rested, else one never used. */
  take(): string {
    const [oldest] = this.#resting;
    if (oldest !== undefined && this.#hasRested(oldest[1])) {
      this.#resting.delete(oldest[0]);
      return oldest[0];
    }
    if (this.#next === addressesPerNetwork) {
      throw new NoAddressError(`every address of ${this.#options.network}.0.0/16 is in use`);
    }
    const index = this.#next++;
    const third = Math.floor(index / hostsPerOctet);
    return `${this.#options.network}.${third}.${(index % hostsPerOctet) + 1}`;
  }

  /** Call it only for an address that this pod really had. */
  release(address: string): void {
    this.#resting.delete(address);
    this.#resting.set(address, this.#options.clock.monotonicMs());
  }

  #hasRested(since: MonotonicMs): boolean {
    return elapsedMs(since, this.#options.clock.monotonicMs()) >= this.#reuseAfterMs;
  }
}
