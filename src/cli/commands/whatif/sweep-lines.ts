// Prints a sweep: a table with a bar chart beside it. The bars show the longest wait, or for nodes both
// the flaps of healthy nodes and the time until a dead one is noticed, because one trades for the other.
// Pure.
import { durationText } from "../../../environment/duration-text.ts";
import { type Input, inputText } from "../../../lab/whatif/inputs.ts";
import type { SweepRow } from "../../../lab/whatif/sweep.ts";
import type { Waits } from "../../../lab/whatif/waits.ts";
import { hasP99, samplesText } from "../../../timeline/percentile.ts";
import { type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { numberText } from "../../terminal/value-text.ts";
import type { LineOptions } from "./view.ts";

interface Shape {
  readonly columns: readonly Column[];
  readonly head: readonly string[];
  readonly cells: (row: SweepRow) => readonly string[];
  readonly bars: readonly Bar[];
}

/** One bar a row; the longest fills the width. */
interface Bar {
  readonly title: string;
  readonly of: (row: SweepRow) => number;
}

const duration = { width: 12, align: "right" } as const;

const publishingShape: Shape = {
  columns: [duration, duration, duration, { width: 8, align: "left" }],
  head: ["resync time", "p99, resync", "longest wait", "limit"],
  cells: ({ publishing }) => [
    durationOr(publishing?.resync.drainMs, "never"),
    p99Text(publishing?.waits.resync),
    durationOr(publishing?.worstWaitMs, publishing?.waitGrowth === undefined ? "–" : "grows"),
    publishing?.constraint.name ?? "",
  ],
  bars: [{ title: "longest wait", of: longestMs }],
};

/** A wait that grows without end is longer than any other. */
function longestMs({ publishing }: SweepRow): number {
  if (publishing?.waitGrowth !== undefined) return Number.POSITIVE_INFINITY;
  return publishing?.worstWaitMs ?? 0;
}

function p99Text(waits: Waits | undefined): string {
  if (waits === undefined) return "–";
  return hasP99(waits.changes) ? durationText(waits.p99Ms) : samplesText(waits.changes);
}

const nodesShape: Shape = {
  columns: [{ width: 7, align: "right" }, duration, duration],
  head: ["flaps/h", "dead: p50", "dead: max"],
  cells: ({ nodes }) => [
    numberText(Number((nodes?.flapsPerHour ?? 0).toPrecision(3))),
    durationOr(nodes?.noticed?.p50Ms, "–"),
    durationOr(nodes?.noticed?.maxMs, "–"),
  ],
  bars: [
    { title: "flaps/h", of: ({ nodes }) => nodes?.flapsPerHour ?? 0 },
    { title: "dead: max", of: ({ nodes }) => nodes?.noticed?.maxMs ?? 0 },
  ],
};

const keyWidthMin = 8;
const barMin = 8;
const gap = "  ";

export function sweepLines(
  input: Input,
  rows: readonly SweepRow[],
  { width, paint }: LineOptions,
): readonly string[] {
  const { columns, head, cells, bars } = input.concerns === "nodes" ? nodesShape : publishingShape;
  const key = { width: Math.max(keyWidthMin, input.key.length), align: "right" } as const;
  const all = [key, ...columns];
  const left = width - tableWidth(all);
  const room = Math.max(barMin, Math.floor(left / bars.length) - gap.length);
  const charts = bars.map(({ title, of: valueIn }) => {
    const largest = Math.max(0, ...rows.map(valueIn).filter(Number.isFinite));
    return { title, bar: (row: SweepRow) => barOf(valueIn(row), largest, room) };
  });
  const line = (texts: readonly string[], chart: readonly string[]) =>
    [...rowLines(texts, all), ""][0]?.padEnd(tableWidth(all)) +
    chart.map((text) => gap + text.padEnd(room)).join("");
  return [
    paint.secondary(
      line(
        [input.key, ...head],
        charts.map(({ title }) => title),
      ).trimEnd(),
    ),
    ...rows.map((row) =>
      line(
        [inputText(input, row.value), ...cells(row)],
        charts.map(({ bar }) => bar(row)),
      ).trimEnd(),
    ),
    ...(bars.every(({ of: valueIn }) => isFlat(rows.map(valueIn)))
      ? ["", `${input.key} changes none of these numbers.`]
      : []),
  ];
}

/** Equal within one percent. */
function isFlat(values: readonly number[]): boolean {
  const largest = Math.max(...values);
  if (!Number.isFinite(largest)) return values.every((value) => !Number.isFinite(value));
  return largest - Math.min(...values) <= 0.01 * largest;
}

/** At least one block for a value above zero. */
function barOf(value: number, largest: number, room: number): string {
  if (!(value > 0)) return "";
  if (!Number.isFinite(value)) return "█".repeat(room);
  return "█".repeat(Math.max(1, Math.round((value / largest) * room)));
}

function durationOr(ms: number | undefined, otherwise: string): string {
  return ms === undefined ? otherwise : durationText(ms);
}
