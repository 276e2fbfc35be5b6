// Lags in few bytes: how many there were, the longest exactly, and any quantile within two per cent,
// however many were added. Buckets grow by two per cent from a hundredth of a millisecond on.
import type { MonotonicMs } from "../../../environment/clock.ts";

/** A quantile is the mean of its bucket, so it is off by less than this. */
const growth = 1.02;
const logGrowth = Math.log(growth);

/** Shorter ones are zero to a person. */
const leastMs = 0.01;

/** Past 1,000 days; so at most some 1,850 buckets. */
const mostMs = 1e11;

interface Bucket {
  count: number;
  sumMs: number;
}

export class LagFigures {
  /** Bucket 0 is for what is shorter than `leastMs`. */
  readonly #buckets = new Map<number, Bucket>();
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  /** 0 when there was none. */
  get maxMs(): number {
    return this.#maxMs;
  }

  add(lagMs: number): void {
    const number = bucketOf(lagMs);
    const bucket = this.#buckets.get(number) ?? { count: 0, sumMs: 0 };
    bucket.count += 1;
    bucket.sumMs += lagMs;
    this.#buckets.set(number, bucket);
    this.#count += 1;
    this.#maxMs = Math.max(this.#maxMs, lagMs);
  }

  /** Takes out what was added before; the longest stays. */
  subtract(others: LagFigures): void {
    for (const [number, { count, sumMs }] of others.#buckets) {
      const bucket = this.#buckets.get(number);
      if (bucket === undefined) continue;
      bucket.count -= count;
      bucket.sumMs -= sumMs;
      if (bucket.count <= 0) this.#buckets.delete(number);
    }
    this.#count -= others.#count;
  }

  /** The lag that this share of all does not exceed; undefined when there was none. */
  quantileMs(share: number): number | undefined {
    const wanted = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    for (const [, { count, sumMs }] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      seen += count;
      if (seen >= wanted) return sumMs / count;
    }
    return undefined;
  }
}

function bucketOf(lagMs: number): number {
  if (lagMs < leastMs) return 0;
  return 1 + Math.floor(Math.log(Math.min(lagMs, mostMs) / leastMs) / logGrowth);
}

// The lags of the last quarter of an hour: a view that is left open for days must show how it stands
// now. They are kept by the minute in which they were shown, and go a minute at a time.
// Invariant: `#sum` is the sum of the minutes that are kept, at most `minutesKept` of them.

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
