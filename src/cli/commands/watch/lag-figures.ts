// Lags in few bytes: how many there were, the longest exactly, and any quantile within two per cent,
// however many were added. Buckets grow by two per cent from a hundredth of a millisecond on.

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
