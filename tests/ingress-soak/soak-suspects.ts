// The endpoints that the proxy must treat as suspects, because a connection to them failed a moment
// ago. A suspect is forgotten as in the proxy: when a connection succeeds, when the time is over,
// when the endpoint starts again, and when the proxy gets the whole state again. After a probe was
// answered it may be forgotten or not: the proxy learns of it a little later.
import type { Row } from "./soak-facts.ts";

/** A failed connection is believed for as long (proxy/lua/lockstep/suspects.lua). */
const suspectMs = 10_000;

export class SoakSuspects {
  readonly #now: () => number;
  /** By service and address, when a connection last failed; forgotten when one succeeds. */
  readonly #failedMs = new Map<string, number>();
  /** By address, when a probe was last answered. */
  readonly #probedMs = new Map<string, number>();
  #forgotMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  connected(service: string, address: string): void {
    this.#failedMs.delete(`${service} ${address}`);
  }

  /** A probe of the address was answered. */
  probed(address: string): void {
    this.#probedMs.set(address, this.#now());
  }

  /** A try from before the proxy got the whole state again is not recorded. */
  unreached(service: string, address: string, triedMs: number): void {
    if (triedMs < this.#forgotMs) return;
    this.#failedMs.set(`${service} ${address}`, this.#now());
  }

  /** After a load there are no suspects. */
  forgetAll(): void {
    this.#failedMs.clear();
    this.#forgotMs = this.#now();
  }

  /**
   * An endpoint that comes, or comes back, is no suspect; but not because an earlier pod of its
   * address is out.
   */
  decided(service: string, before: readonly Row[], after: readonly Row[]): void {
    const taken = new Set(after.filter(({ state }) => state !== "out").map((row) => row.address));
    for (const { state, address, podUid } of after) {
      const isNew = !before.some(
        (row) => row.podUid === podUid && row.address === address && row.state !== "out",
      );
      const isForgotten = state === "out" ? !taken.has(address) : isNew;
      if (isForgotten) this.#failedMs.delete(`${service} ${address}`);
    }
  }

  /**
   * How long ago a connection failed; undefined when that may be forgotten by now, or never happened.
   */
  failedAgoMs(service: string, address: string): number | undefined {
    const failedMs = this.#failedMs.get(`${service} ${address}`) ?? Number.NEGATIVE_INFINITY;
    const isProbed = (this.#probedMs.get(address) ?? Number.NEGATIVE_INFINITY) >= failedMs;
    return isProbed ? undefined : this.longestAgoMs(service, address);
  }

  /** The same, whatever a probe has shown since. */
  longestAgoMs(service: string, address: string): number | undefined {
    const failedMs = this.#failedMs.get(`${service} ${address}`);
    if (failedMs === undefined) return undefined;
    const agoMs = this.#now() - failedMs;
    return agoMs < suspectMs ? agoMs : undefined;
  }
}
