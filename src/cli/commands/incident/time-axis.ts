// The time axis that all charts of a result share: which column an instant has, where the marks of
// the timeline stand, and labels at round times. Pure.
import { durationText } from "../../../environment/duration-text.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Between two labels there is one of these, so that they are round to a reader. */
const stepsMs = [
  ...[1, 10, 100].flatMap((ten) => [ten, 2 * ten, 5 * ten]),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * secondMs),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minuteMs),
  ...[1, 2, 3, 6, 12].map((count) => count * hourMs),
  ...[1, 2, 5, 10, 20].map((count) => count * dayMs),
];

/** A label and some air. */
const labelColumns = 12;

/** Each entry of the timeline has one; a run with more shows the others unnumbered. */
const markNames = "123456789abcdefghijklmnopqrstuvwxyz";

export class TimeAxis {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly columns: number;

  constructor(options: {
    readonly fromMs: number;
    readonly toMs: number;
    readonly columns: number;
  }) {
    const { fromMs, toMs, columns } = options;
    this.#fromMs = fromMs;
    this.#toMs = Math.max(toMs, fromMs + 1);
    this.columns = columns;
  }

  /** The column of an instant; undefined outside the axis. */
  columnOf(atMs: number): number | undefined {
    if (atMs < this.#fromMs || atMs > this.#toMs) return undefined;
    const share = (atMs - this.#fromMs) / (this.#toMs - this.#fromMs);
    return Math.min(this.columns - 1, Math.floor(share * this.columns));
  }

  /** The line itself, with the mark of each instant. */
  line(marksAtMs: readonly (number | undefined)[]): string {
    const cells = Array.from({ length: this.columns }, () => "─");
    for (const [index, atMs] of marksAtMs.entries()) {
      const column = atMs === undefined ? undefined : this.columnOf(atMs);
      // Where several fall together the first stands for all.
      if (column !== undefined && cells[column] === "─") cells[column] = markName(index);
    }
    return cells.join("");
  }

  /** Round times below it, each beginning at its column. */
  labels(): string {
    const absolute = this.#labelsFrom(0, (at) => durationText(at));
    const texts = absolute.map(({ text }) => text);
    if (new Set(texts).size === texts.length) return this.#written(absolute);
    // Late in a long run such labels would all be the same: they count from the axis's beginning.
    const relative = this.#labelsFrom(this.#fromMs, (at) =>
      at === this.#fromMs ? durationText(at) : `+${durationText(at - this.#fromMs)}`,
    );
    return this.#written(relative);
  }

  /** At every so many whole steps from an instant on. */
  #labelsFrom(originMs: number, textOf: (atMs: number) => string): readonly Label[] {
    const wanted = ((this.#toMs - this.#fromMs) / this.columns) * labelColumns;
    const stepMs = stepsMs.find((step) => step >= wanted) ?? Math.ceil(wanted / dayMs) * dayMs;
    const labels: Label[] = [];
    const firstMs = originMs + Math.ceil((this.#fromMs - originMs) / stepMs) * stepMs;
    for (let at = firstMs; at <= this.#toMs; at += stepMs) {
      labels.push({ column: this.columnOf(at) ?? 0, text: textOf(at) });
    }
    return labels;
  }

  #written(labels: readonly Label[]): string {
    const fitting = labels.filter(({ column, text }) => column + text.length <= this.columns);
    return fitting.reduce((line, { column, text }) => line.padEnd(column) + text, "");
  }
}

interface Label {
  readonly column: number;
  readonly text: string;
}

/** What stands for the timeline's entry of this index, on the axis and before its text. */
export function markName(index: number): string {
  return markNames[index] ?? "·";
}
