// The logarithmic time axis on which every journey is drawn: from 1 ms to 10 min, in percent of the
// width. The start of the change is left of 1 ms; a lag above 10 min ends at the right edge, and its
// text has the figure.

export interface Tick {
  readonly ms: number;
  readonly text: string;
  readonly percent: number;
  /** Shown where there is little room too. */
  readonly isMajor: boolean;
}

const firstMs = 1;
const lastMs = 600_000;
/** Room for the dot of the pod. */
export const originPercent = 1.5;
const firstPercent = 5;
const lastPercent = 96;
const edgePercent = 99;

/** Where a lag ends. */
export function lagPercent(ms: number): number {
  if (ms <= 0) return originPercent;
  if (ms < firstMs) return originPercent + (firstPercent - originPercent) * (ms / firstMs);
  const share = Math.log(ms / firstMs) / Math.log(lastMs / firstMs);
  return Math.min(firstPercent + share * (lastPercent - firstPercent), edgePercent);
}

export const ticks: readonly Tick[] = [
  tick(1, "1 ms", true),
  tick(10, "10 ms", false),
  tick(100, "100 ms", true),
  tick(1_000, "1 s", true),
  tick(10_000, "10 s", true),
  tick(60_000, "1 min", false),
  tick(600_000, "10 min", true),
];

function tick(ms: number, text: string, isMajor: boolean): Tick {
  return { ms, text, percent: lagPercent(ms), isMajor };
}
