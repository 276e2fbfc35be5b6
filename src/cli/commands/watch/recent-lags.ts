// The lags of the last quarter of an hour: a view that is left open for days must show how it stands
// now. They are kept by the minute in which they were shown, and go a minute at a time.
// Invariant: `#sum` is the sum of the minutes that are kept, at most `minutesKept` of them.
import type { MonotonicMs } from "../../../environment/clock.ts";
import { LagFigures } from "./lag-figures.ts";

const minuteMs = 60_000;

/** Long enough for a quantile of few changes, short enough to be now. */
const minutesKept = 15;

/** Between fourteen minutes and so long: the present one has just begun, or is nearly over. */
export const recentMs = minutesKept * minuteMs;

/** As tables have it. */
export const recentText = "last 15m";

/** What of several lags is shown. */
export type ShownLags = Pick<LagFigures, "count" | "maxMs" | "quantileMs">;

export class RecentLags {
  readonly #minutes = new Map<number, LagFigures>();
  readonly #sum = new LagFigures();
  /** The latest minute of which anything is known. */
  #newest = Number.NEGATIVE_INFINITY;

  /** One that was shown before the minutes that are kept is left out. */
  add(lagMs: number, shownAt: MonotonicMs): void {
    const minute = minuteOf(shownAt);
    this.#forgetBefore(minute);
    if (minute <= this.#newest - minutesKept) return;
    const figures = this.#minutes.get(minute) ?? new LagFigures();
    this.#minutes.set(minute, figures);
    figures.add(lagMs);
    this.#sum.add(lagMs);
  }

  at(now: MonotonicMs): ShownLags {
    this.#forgetBefore(minuteOf(now));
    const sum = this.#sum;
    const maxMs = Math.max(0, ...[...this.#minutes.values()].map((one) => one.maxMs));
    return { count: sum.count, maxMs, quantileMs: (share) => sum.quantileMs(share) };
  }

  #forgetBefore(newest: number): void {
    if (newest <= this.#newest) return;
    this.#newest = newest;
    for (const [minute, figures] of this.#minutes) {
      if (minute > newest - minutesKept) continue;
      this.#minutes.delete(minute);
      this.#sum.subtract(figures);
    }
  }
}

function minuteOf(at: MonotonicMs): number {
  return Math.floor(at / minuteMs);
}
