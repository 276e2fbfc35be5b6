// Counts latencies in buckets that grow by a few percent each, so that millions of them cost a fixed
// piece of memory and a percentile is right to that precision.

/** The upper bound of a bucket is this times that of the one before. */
const growth = 1.02;
const smallestMs = 0.001;
const buckets = 1024;

export class LatencyHistogram {
  readonly #counts = new Float64Array(buckets);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(latencyMs: number): void {
    const bucket = Math.ceil(Math.log(latencyMs / smallestMs) / Math.log(growth));
    const index = Math.min(Math.max(bucket, 0), buckets - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count += 1;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
  }

  /** The bound that at least this share of the latencies does not exceed; NaN when there are none. */
  percentile(share: number): number {
    let seen = 0;
    for (const [index, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= share * this.#count) return smallestMs * growth ** index;
    }
    return Number.NaN;
  }
}
