// Statistics of lags in little memory: the count, the exact maximum, and quantiles within two per
// cent. Buckets grow by two per cent from 0.01 ms.
import type { MonotonicMs } from "../environment/clock.ts";

/** A quantile is the mean of its bucket, so its error is smaller than this. */
const growth = 1.02;
const logGrowth = Math.log(growth);

/** Shorter lags count as zero. */
const leastMs = 0.01;

/** About 1,000 days, so there are at most some 1,850 buckets. */
const mostMs = 1e11;

interface Bucket {
  count: number;
  sumMs: number;
}

export class LagFigures {
  /** Bucket 0 has lags shorter than `leastMs`. */
  readonly #buckets = new Map<number, Bucket>();
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  /** 0 without lags. */
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

  /** Removes lags that were added before; the maximum stays. */
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

  /** The lag that this share of all does not exceed; undefined without lags. */
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

const minuteMs = 60_000;

/** Long enough for a quantile of few changes, short enough to be current. */
const minutesKept = 15;

/** The real span is between 14 and 15 minutes. */
export const recentMs = minutesKept * minuteMs;

export const recentText = "last 15m";

export type ShownLags = Pick<LagFigures, "count" | "maxMs" | "quantileMs">;

/**
 * The lags of the last minutes, 15 unless given, by minute, because a view may be open for days.
 * Invariant: `#sum` is the sum of the kept minutes, at most `#kept` of them.
 */
export class RecentLags {
  readonly #kept: number;
  readonly #minutes = new Map<number, LagFigures>();
  readonly #sum = new LagFigures();
  /** The latest minute with a lag. */
  #newest = Number.NEGATIVE_INFINITY;

  constructor(kept = minutesKept) {
    this.#kept = kept;
  }

  /** Older lags are ignored. */
  add(lagMs: number, shownAt: MonotonicMs): void {
    const minute = minuteOf(shownAt);
    this.#forgetBefore(minute);
    if (minute <= this.#newest - this.#kept) return;
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
      if (minute > newest - this.#kept) continue;
      this.#minutes.delete(minute);
      this.#sum.subtract(figures);
    }
  }
}

function minuteOf(at: MonotonicMs): number {
  return Math.floor(at / minuteMs);
}
