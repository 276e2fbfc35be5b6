// When a watch gets its bookmarks: about every minute, so that a broken watch can resume, and a
// last one shortly before its deadline, so that the next starts as near to the present as can be.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { jitter, type Random } from "../../environment/random.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export interface BookmarkScheduleOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** When the watch ends. */
  readonly deadline: MonotonicMs;
  readonly send: () => void;
}

const intervalMs = 60_000;

/** Real servers look once in 1 to 1.25 s who is due: so much later than a minute at most. */
const intervalJitter = 1.25 / 60;

const lastBeforeDeadlineMs = 2000;

export class BookmarkSchedule {
  readonly #options: BookmarkScheduleOptions;
  #cancel: CancelTimer | undefined;

  constructor(options: BookmarkScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#scheduleNext();
  }

  /** Idempotent. */
  stop(): void {
    this.#cancel?.();
  }

  #scheduleNext(): void {
    const { clock, deadline, random, timers, send } = this.#options;
    const leftMs = elapsedMs(clock.monotonicMs(), deadline) - lastBeforeDeadlineMs;
    // The last one has been sent; a remainder below the clock's grain is not a wait.
    if (leftMs < 1) return;
    const delayMs = Math.min(jitter(random, intervalMs, intervalJitter), leftMs);
    this.#cancel = timers.after(delayMs, () => {
      this.#scheduleNext();
      send();
    });
  }
}
