// Pods that the watch has shown to be gone. A slice can name a pod long after it went, and may even
// be written after that by a controller that computed it before; absence alone would not tell such
// a pod from one that the watch has yet to show.
import { type Clock, elapsedMs, type MonotonicMs } from "../environment/clock.ts";

/** Longer than any controller has been seen to lag, so that no slice outlives our memory of a pod. */
export const rememberDepartedMs = 60 * 60_000;

/** At 100 bytes each a few MB; a thousand pods leaving each minute for an hour are still in it. */
export const maxDeparted = 60_000;

/** Invariant: `#departedAt` is in the order of departure, and holds at most `maxDeparted` uids. */
export class DepartedPods {
  readonly #clock: Clock;
  readonly #departedAt = new Map<string, MonotonicMs>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  add(uid: string): void {
    const now = this.#clock.monotonicMs();
    this.#departedAt.set(uid, now);
    for (const [oldest, at] of this.#departedAt) {
      const isOld = elapsedMs(at, now) > rememberDepartedMs;
      if (!isOld && this.#departedAt.size <= maxDeparted) return;
      this.#departedAt.delete(oldest);
    }
  }

  /** When the watch showed that the pod is gone; undefined when it did not, or very long ago. */
  departedAt(uid: string): MonotonicMs | undefined {
    return this.#departedAt.get(uid);
  }
}
