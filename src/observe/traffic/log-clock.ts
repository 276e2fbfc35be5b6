// How far the clock of a log's writer is ahead of ours. No line is written before its request is
// over, so a line from our future shows it. Clocks are corrected, and a line can be wrong. So an
// observation counts for some minutes only, and one odd line cannot move all later ones.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";

/** Longer than proxies keep lines back, and short enough for a clock that was set. */
const periodMs = 5 * 60_000;

/** Invariant: `#now` began within a period of the last line, `#before` is the period before it. */
export class LogClock {
  readonly #clock: Clock;
  #began: MonotonicMs | undefined;
  #now = Number.NEGATIVE_INFINITY;
  #before = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A line says that its request was over so far in our future; negative when it is past. */
  see(aheadMs: number): void {
    const now = this.#clock.monotonicMs();
    const passedMs = this.#began === undefined ? 0 : elapsedMs(this.#began, now);
    if (this.#began === undefined || passedMs >= periodMs) {
      this.#before = passedMs < 2 * periodMs ? this.#now : Number.NEGATIVE_INFINITY;
      this.#now = Number.NEGATIVE_INFINITY;
      this.#began = now;
    }
    this.#now = Math.max(this.#now, aheadMs);
  }

  /** Never negative: lines arrive late for many reasons, so an old line shows nothing. */
  get aheadMs(): number {
    return Math.max(0, this.#now, this.#before);
  }
}
