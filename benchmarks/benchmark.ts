// The shape of a benchmark: named figures, each with a goal where there is one. A figure is a ratio
// to a reference measured in the same run wherever possible, because seconds on a shared machine
// mean little. Goals are reported, never asserted.

export interface Figure {
  readonly value: number;
  readonly unit: string;
  /** In words: `≤ 1.3`. */
  readonly goal?: string;
  readonly holds?: boolean;
  /** The reference of the value, or how it was measured. */
  readonly note?: string;
  /** Where it stands in a table of several subjects beside each other. */
  readonly place?: { readonly row: string; readonly column: string };
}

export type Figures = Readonly<Record<string, Figure>>;

export interface Benchmark {
  readonly description: string;
  /** Whether there is a short run of it, for a look rather than for figures. */
  readonly hasQuickRun?: boolean;
  /** Whether its length can be given in minutes. */
  readonly takesMinutes?: boolean;
  /** Those that can be asked for by name. */
  readonly parts?: readonly string[];
  run(progress: Progress, options: BenchmarkOptions): Promise<Figures>;
}

/** Says what is being measured now. */
export type Progress = (step: string) => void;

export interface BenchmarkOptions {
  readonly quick: boolean;
  /** How long the part of it takes that can be long; its own choice unless given. */
  readonly minutes?: number;
  /** Its own choice unless given. */
  readonly parts?: readonly string[];
  /** Figures go into documents; its section of docs/figures.md is written for it. */
  readonly writeDocs: boolean;
}

/** A requirement of the benchmark is missing, or it was stopped; the message is for people. */
export class CannotMeasureError extends Error {
  override readonly name = "CannotMeasureError";
  readonly code = "CANNOT_MEASURE";
}

export function atMost(value: number, limit: number, unit: string, note?: string): Figure {
  return figure(value, unit, `≤ ${limit}`, value <= limit, note);
}

export function atLeast(value: number, limit: number, unit: string, note?: string): Figure {
  return figure(value, unit, `≥ ${limit}`, value >= limit, note);
}

export function plain(value: number, unit: string, note?: string): Figure {
  return { value: rounded(value), unit, ...(note === undefined ? {} : { note }) };
}

/** Of a subject that is not there to be measured: the note says how to get it. */
export function notMeasured(unit: string, note: string): Figure {
  return { value: Number.NaN, unit, note };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The smallest value that at least this share of them does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

function figure(
  value: number,
  unit: string,
  goal: string,
  holds: boolean,
  note: string | undefined,
): Figure {
  return { value: rounded(value), unit, goal, holds, ...(note === undefined ? {} : { note }) };
}

/** Three significant digits: more would be noise. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
