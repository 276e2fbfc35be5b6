// Passes items on in their order, each after a delay that may be changed while they wait. Without
// a delay they pass straight through.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export interface DelayLineOptions<Item> {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Read each time, because it may change; infinite holds everything back. */
  readonly delayMs: () => number;
  readonly deliver: (item: Item) => void;
  /** One item in place of two that arrived close together, if it is equivalent. */
  readonly merge: (earlier: Item, later: Item) => Item | undefined;
  /** Beyond it the oldest pass before their time: falling short of a delay loses nothing. */
  readonly maxWaiting: number;
}

/** A day is a valid timer delay, infinity is not. */
const maxSleepMs = 24 * 3_600_000;

/** Items this close together may be merged, and then pass with the first: a delay so much short. */
const mergeWithinMs = 100;

interface Waiting<Item> {
  item: Item;
  readonly arrivedAt: MonotonicMs;
}

export class DelayLine<Item> {
  readonly #options: DelayLineOptions<Item>;
  /** In order of arrival, hence in order of departure. */
  readonly #waiting: Waiting<Item>[] = [];
  #delivering = false;
  #cancelTimer: CancelTimer | undefined;
  #stopped = false;

  constructor(options: DelayLineOptions<Item>) {
    this.#options = options;
  }

  push(item: Item): void {
    if (this.#stopped) return;
    const { delayMs, deliver, maxWaiting } = this.#options;
    if (this.#waiting.length === 0 && !this.#delivering && delayMs() === 0) {
      deliver(item);
      return;
    }
    this.#enqueue(item);
    if (this.#waiting.length > maxWaiting) this.#pass(1);
    if (this.#cancelTimer === undefined) this.reconsider();
  }

  /** To be called when the delay has changed. */
  reconsider(): void {
    if (this.#delivering) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { clock, delayMs, timers } = this.#options;
    const now = clock.monotonicMs();
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const dueAfterMs = delayMs();
      const leftMs = dueAfterMs - elapsedMs(next.arrivedAt, now);
      if (leftMs > 0) {
        // Whole milliseconds: a wait too short for the clock to move would never end.
        const sleepMs = Math.min(Math.ceil(leftMs), maxSleepMs);
        this.#cancelTimer = timers.after(sleepMs, () => this.reconsider());
        return;
      }
      const firstEarly = this.#waiting.findIndex(
        (waiting) => elapsedMs(waiting.arrivedAt, now) < dueAfterMs,
      );
      this.#pass(firstEarly === -1 ? this.#waiting.length : firstEarly);
    }
  }

  /** Drops all waiting items. Idempotent. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #enqueue(item: Item): void {
    const now = this.#options.clock.monotonicMs();
    const last = this.#waiting.at(-1);
    if (last !== undefined && elapsedMs(last.arrivedAt, now) <= mergeWithinMs) {
      const merged = this.#options.merge(last.item, item);
      if (merged !== undefined) {
        last.item = merged;
        return;
      }
    }
    this.#waiting.push({ item, arrivedAt: now });
  }

  /** Passes the oldest; new items queue up behind them. */
  #pass(count: number): void {
    this.#delivering = true;
    for (const { item } of this.#waiting.splice(0, count)) {
      if (!this.#stopped) this.#options.deliver(item);
    }
    this.#delivering = false;
  }
}
