// Hands out the addresses of a cluster's pods. Each has its own, from one network of the cluster:
// in 127.0.0.0/8 where the pods are real servers, anything else in a simulation. An address that
// was given back rests before it is used again, as long as the lab says: with no rest at all the
// next pod gets the address of the last, as happens to those who run out of addresses.
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

/** x.y.0.1 to x.y.255.254: the last octets 0 and 255 stay free, being special elsewhere. */
const hostsPerOctet = 254;
const addressesPerNetwork = 256 * hostsPerOctet;

/** No address is free, and none has rested long enough. */
export class NoAddressError extends Error {
  override readonly name = "NoAddressError";
  readonly code = "NO_ADDRESS";
}

export class PodAddresses {
  readonly #options: PodAddressesOptions;
  readonly #reuseAfterMs: number;
  /** Those below were handed out at least once. */
  #next = 0;
  /** The one given back first comes first. None of them is in use. */
  readonly #resting = new Map<string, MonotonicMs>();

  constructor(options: PodAddressesOptions) {
    this.#options = options;
    this.#reuseAfterMs = options.reuseAfterMs ?? defaultReuseAfterMs;
  }

  /** An address nobody has: one that has rested, else one never used. */
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

  /** Gives an address back. One that turned out to be somebody else's is simply not given back. */
  release(address: string): void {
    this.#resting.delete(address);
    this.#resting.set(address, this.#options.clock.monotonicMs());
  }

  #hasRested(since: MonotonicMs): boolean {
    return elapsedMs(since, this.#options.clock.monotonicMs()) >= this.#reuseAfterMs;
  }
}
