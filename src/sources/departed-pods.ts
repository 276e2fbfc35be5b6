// Pods that the watch has shown to be gone. A slice can name a pod long after it went, and may even
// be written after that by a controller that computed it before; absence alone would not tell such
// a pod from one that the watch has yet to show.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

/** Longer than any controller has been seen to lag, so that no slice outlives our memory of a pod. */
export const rememberDepartedMs = 60 * 60_000;

/** At 100 bytes each a few MB; a thousand pods leaving each minute for an hour are still in it. */
export const maxDeparted = 60_000;

/** How the pod watch showed that a pod is gone. */
export interface Departure {
  readonly atMs: MonotonicMs;
  /**
   * Its deletion was seen, or that it was going: somebody meant it. False when a list came without
   * it and nothing else was ever heard, which is the word of one server.
   */
  readonly isWitnessed: boolean;
}

/** Invariant: `#departures` is in the order of departure, and holds at most `maxDeparted` uids. */
export class DepartedPods {
  readonly #clock: Clock;
  readonly #departures = new Map<string, Departure>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  add(uid: string, how: Pick<Departure, "isWitnessed">): void {
    const now = this.#clock.monotonicMs();
    this.#departures.delete(uid);
    this.#departures.set(uid, { atMs: now, isWitnessed: how.isWitnessed });
    for (const [oldest, { atMs }] of this.#departures) {
      const isOld = elapsedMs(atMs, now) > rememberDepartedMs;
      if (!isOld && this.#departures.size <= maxDeparted) return;
      this.#departures.delete(oldest);
    }
  }

  /** Undefined when the watch did not show that the pod is gone, or very long ago. */
  get(uid: string): Departure | undefined {
    return this.#departures.get(uid);
  }
}
