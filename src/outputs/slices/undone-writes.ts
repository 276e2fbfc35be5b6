// Notices that another program reverts writes to the access cluster: a service has to be corrected
// again and again, although no business cluster has changed it. Most likely another Lockstep copies
// from the same cluster with other settings. Invariant: only services that were corrected since
// their last new offer are counted.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";

/**
 * A person who tries something by hand does it less often; two programs do it many times a second.
 */
export const undoneTimes = 5;
export const undoneWithinMs = 60_000;

/** While it goes on it is reported again, because the first report may have been overlooked. */
export const sayAgainMs = 600_000;

interface Undone {
  readonly since: MonotonicMs;
  readonly times: number;
}

export class UndoneWrites {
  readonly #undone = new Map<string, Undone>();
  #saidAt: MonotonicMs | undefined;

  /** A business cluster has changed the service. */
  news(service: string): void {
    this.#undone.delete(service);
  }

  /** It was put right without news. True when it is time to say so. */
  putRight(service: string, now: MonotonicMs): boolean {
    const known = this.#undone.get(service);
    const isOld = known === undefined || elapsedMs(known.since, now) > undoneWithinMs;
    const undone = isOld ? { since: now, times: 1 } : { ...known, times: known.times + 1 };
    this.#undone.set(service, undone);
    if (undone.times < undoneTimes) return false;
    if (this.#saidAt !== undefined && elapsedMs(this.#saidAt, now) < sayAgainMs) return false;
    this.#saidAt = now;
    return true;
  }
}
