// Warnings about things that can happen thousands of times a second, once in a while. The count of
// those left out goes with the next line, and metrics count all of them.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Log, LogFields } from "../../environment/log.ts";

/** One line each ten seconds shows that it goes on without filling a disk. */
export const limitedLogEveryMs = 10_000;

export class LimitedLog {
  readonly #clock: Clock;
  readonly #log: Log;
  #lastAt: MonotonicMs | undefined;
  #leftOut = 0;

  constructor(options: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  warn(message: string, fields: LogFields): void {
    const now = this.#clock.monotonicMs();
    if (this.#lastAt !== undefined && elapsedMs(this.#lastAt, now) < limitedLogEveryMs) {
      this.#leftOut += 1;
      return;
    }
    this.#log.warn(message, { ...fields, leftOut: this.#leftOut });
    this.#lastAt = now;
    this.#leftOut = 0;
  }
}
