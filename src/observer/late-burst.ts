// Late words come in bursts: when a connection is back all that has gathered is told at once. What
// follows a late word closely came with it, though by then its watch is known to be alive, or is
// another one of the same cluster that does not know that it was cut off.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";

/** Words of a burst follow each other within a fraction of it. */
const burstGapMs = 50;

export class LateBurst {
  /** When something late was last told. */
  #lateAt: MonotonicMs | undefined;

  isOn(now: MonotonicMs): boolean {
    return this.#lateAt !== undefined && elapsedMs(this.#lateAt, now) < burstGapMs;
  }

  /** Something late is told. */
  goOn(now: MonotonicMs): void {
    this.#lateAt = now;
  }
}
