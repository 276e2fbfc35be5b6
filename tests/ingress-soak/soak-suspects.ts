// Which endpoints the proxy must hold for suspects, because a connection to them failed a moment
// ago. It forgets them as the proxy does: when one succeeds, when the time is over, when the
// endpoint begins anew, and when the proxy is told everything anew.
import type { Row } from "./soak-facts.ts";

/** A failed connection is believed for as long (proxy/lua/lockstep/suspects.lua). */
const suspectMs = 10_000;

export class SoakSuspects {
  readonly #now: () => number;
  /** By service and address, when a connection last failed; forgotten when one succeeds. */
  readonly #failedMs = new Map<string, number>();
  #forgotMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  connected(service: string, address: string): void {
    this.#failedMs.delete(`${service} ${address}`);
  }

  /** Of a try that began before the proxy was told everything anew, nobody will know. */
  unreached(service: string, address: string, triedMs: number): void {
    if (triedMs < this.#forgotMs) return;
    this.#failedMs.set(`${service} ${address}`, this.#now());
  }

  /** Whoever begins anew has no suspects. */
  forgetAll(): void {
    this.#failedMs.clear();
    this.#forgotMs = this.#now();
  }

  /** Who comes, or comes back, begins anew; but not because an earlier pod of its address is out. */
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

  /** How long ago a connection failed; undefined when that is forgotten or never happened. */
  failedAgoMs(service: string, address: string): number | undefined {
    const failedMs = this.#failedMs.get(`${service} ${address}`);
    if (failedMs === undefined) return undefined;
    const agoMs = this.#now() - failedMs;
    return agoMs < suspectMs ? agoMs : undefined;
  }
}
