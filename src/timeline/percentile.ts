// When a percentile says something: the 99th of fewer than a hundred samples is the longest of them
// under another name. Where it is not shown, the number of samples is.

/** One of a hundred lies above it. */
const p99SamplesMin = 100;

export function hasP99(samples: number): boolean {
  return samples >= p99SamplesMin;
}

/** Undefined with too few samples. */
export function p99Of(lags: {
  readonly count: number;
  quantileMs(share: number): number | undefined;
}): number | undefined {
  return hasP99(lags.count) ? lags.quantileMs(0.99) : undefined;
}

/** In place of a 99th percentile: `n=12`. */
export function samplesText(samples: number): string {
  return `n=${samples}`;
}
