// The charts of one replayed incident on a common time axis, so that cause and effect line up:
// quantities, then the lag of each change, then the axis with the marks of the timeline. Pure.

import { durationText } from "../../../environment/duration-text.ts";
import type { Series, TimelineEntry } from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { valueText } from "../../terminal/value-text.ts";

interface ChartOptions {
  /** Width in columns. */
  readonly width: number;
  readonly paint: Paint;
}

/** Width of the scale's labels: `10 min 46 s` and a space. */
const gutterColumns = 12;

/** Height of a single series, and of each series in a shared chart. */
const rowsAlone = 4;
const rowsShared = 2;

/** For series of lags without a side; each side has its own sign. */
const hopSigns = ["+", "×", "*", "◦"] as const;
const sideSigns = { stock: "○", lockstep: "●" } as const;
const sideNames = { stock: "stock (model)", lockstep: "Lockstep" } as const;

export function chartLines(
  series: readonly Series[],
  timeline: readonly TimelineEntry[],
  options: ChartOptions,
): readonly string[] {
  const stages = [...new Set(series.map(stageOf))].sort((one, other) => one - other);
  const charts = stages.map((stage) => {
    const own = series.filter((one) => stageOf(one) === stage);
    return stageCharts(own, marksOf(timeline, stage), options);
  });
  const shown = charts.filter(({ length }) => length > 0);
  return shown.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
}

function stageCharts(
  series: readonly Series[],
  marksAtMs: readonly (number | undefined)[],
  options: ChartOptions,
): readonly string[] {
  const instants = series.flatMap(({ points }) => points.map(([atMs]) => atMs));
  if (instants.length === 0) return [];
  // An axis without charts is useless.
  const isEmpty = topOf(series) === 0;
  const axis = new TimeAxis({
    fromMs: instants.reduce((least, atMs) => Math.min(least, atMs), Infinity),
    // The last value holds until the end of the replay.
    toMs: [...instants, ...marksAtMs].reduce<number>((most, atMs = 0) => Math.max(most, atMs), 0),
    columns: options.width - gutterColumns - 1,
  });
  const { secondary } = options.paint;
  const levels = byText(series.filter(({ unit }) => unit !== "ms"));
  const lags = series.filter(({ unit, points }) => unit === "ms" && points.length > 0);
  const charts = [
    ...levels.map((group) => levelChart(group, axis, options)),
    lagChart(lags, axis, options),
  ].filter(({ length }) => length > 0);
  return [
    ...charts.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])),
    ...(isEmpty
      ? []
      : [
          gutter("", "└") + secondary(axis.line(marksAtMs)),
          `${" ".repeat(gutterColumns + 1)}${secondary(axis.labels())}`,
        ]),
  ];
}

function stageOf({ stage = 1 }: Pick<Series, "stage">): number {
  return stage;
}

/** The time of each entry; undefined for entries of other stages. */
function marksOf(
  timeline: readonly TimelineEntry[],
  stage: number,
): readonly (number | undefined)[] {
  return timeline.map((entry) => (stageOf(entry) === stage ? entry.atMs : undefined));
}

/** Series with the same text share a chart and its scale. */
function byText(series: readonly Series[]): readonly (readonly Series[])[] {
  const groups = new Map<string, Series[]>();
  for (const one of series) {
    const group = groups.get(one.text);
    if (group === undefined) groups.set(one.text, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

function levelChart(
  group: readonly Series[],
  axis: TimeAxis,
  { paint }: ChartOptions,
): readonly string[] {
  const [first] = group;
  if (first === undefined) return [];
  const { text, unit } = first;
  const top = topOf(group);
  if (top === 0) return [`${paint.strong(text)} · none`];
  const rows = group.length === 1 ? rowsAlone : rowsShared;
  const peaks = group.map((one) => `${sideName(one)}${valueText(topOf([one]), unit)}`);
  const strips = group.flatMap((one) =>
    levelRows(one, { axis, rows, top }).map((row, index) => {
      const last = index === rows - 1 ? lastLabel(one) : "";
      const label = index === 0 ? valueText(top, unit) : last;
      return gutter(label, "┤") + sidePaint(one, paint)(row.trimEnd());
    }),
  );
  return [`${paint.strong(text)} · highest ${peaks.join(" · ")}`, ...strips];
}

function lagChart(
  group: readonly Series[],
  axis: TimeAxis,
  { paint, width }: ChartOptions,
): readonly string[] {
  const signs = signsOf(group);
  const rows = lagRows(group, signs, axis);
  if (rows.length === 0) return [];
  const paintCell = ({ sign, series }: LagCell): string => {
    const one = series === undefined ? undefined : group[series];
    return one === undefined ? sign : sidePaint(one, paint)(sign);
  };
  const hasTogether = rows.some(({ cells }) => cells.some(({ sign }) => sign === together));
  const legend = [
    ...group.map((one, index) => `${signs[index]} ${one.text}${sideSuffix(one)}`),
    ...(hasTogether ? [`${together} several at once`] : []),
  ].join(" · ");
  return [
    `${paint.strong("lag of each change")}, on a logarithmic scale`,
    ...wrapText(legend, { width, first: "  ", rest: "  " }),
    ...rows.map(({ label, cells }) => gutter(label, "┤") + cells.map(paintCell).join("").trimEnd()),
  ];
}

function signsOf(group: readonly Series[]): readonly string[] {
  let hop = 0;
  return group.map(({ side }) => {
    if (side !== undefined) return sideSigns[side];
    hop += 1;
    return hopSigns[(hop - 1) % hopSigns.length] ?? "+";
  });
}

/** The end of the scale, and the name of the series if there are two. */
function lastLabel({ side }: Series): string {
  if (side === undefined) return "0";
  return side === "stock" ? "stock" : "Lockstep";
}

function sideName({ side }: Series): string {
  return side === undefined ? "" : `${sideNames[side]} `;
}

function sideSuffix({ side }: Series): string {
  return side === undefined ? "" : `, ${sideNames[side]}`;
}

function sidePaint({ side }: Series, paint: Paint): (text: string) => string {
  const own = side === "lockstep" ? paint.lockstep : paint.secondary;
  return (text) => (side === undefined || text === "" ? text : own(text));
}

function gutter(label: string, line: string): string {
  return `${label.padStart(gutterColumns - 1)} ${line}`;
}

// A quantity over time as bars of eighths of a character. A value holds until the next point; a
// column shows its highest value, so that no peak is lost. Compared series share a scale.

/** From empty to full, in eighths. */
const eighths = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/** Rows from the top. */
function levelRows(
  series: Series,
  options: { readonly axis: TimeAxis; readonly rows: number; readonly top: number },
): readonly string[] {
  const { axis, rows, top } = options;
  const heights = columnValues(series, axis).map((value) => heightOf(value, rows, top));
  return Array.from({ length: rows }, (_, row) => {
    const below = (rows - 1 - row) * 8;
    return heights.map((height) => eighths[Math.min(8, Math.max(0, height - below))]).join("");
  });
}

/** The highest value of all series: the end of the scale. */
function topOf(all: readonly Series[]): number {
  return Math.max(0, ...all.flatMap(({ points }) => points.map(([, value]) => value)));
}

/** In eighths; a value above zero is at least one. */
function heightOf(value: number, rows: number, top: number): number {
  if (value <= 0 || top <= 0) return 0;
  return Math.max(1, Math.round((value / top) * rows * 8));
}

function columnValues({ points }: Series, axis: TimeAxis): readonly number[] {
  const highest: (number | undefined)[] = Array.from({ length: axis.columns });
  const last: (number | undefined)[] = Array.from({ length: axis.columns });
  for (const [atMs, value] of points) {
    const column = axis.columnOf(atMs);
    if (column === undefined) continue;
    highest[column] = Math.max(highest[column] ?? value, value);
    last[column] = value;
  }
  const values: number[] = [];
  let held = 0;
  for (let column = 0; column < axis.columns; column += 1) {
    values.push(highest[column] ?? held);
    held = last[column] ?? held;
  }
  return values;
}

// Lags over time, one sign for each change at each hop, on a logarithmic scale, because lags span
// six orders of magnitude.

/** Marks of the rows from the bottom; a lag is in the row with the nearest mark. */
const marksMs = [1, 10, 100, 1_000, 10_000, 60_000, 600_000] as const;

/** Several series have a sign in this cell. */
const together = "◆";

interface LagRow {
  readonly label: string;
  /** One cell a column, with the index of its series; `together` has none. */
  readonly cells: readonly LagCell[];
}

interface LagCell {
  readonly sign: string;
  readonly series: number | undefined;
}

const empty: LagCell = { sign: " ", series: undefined };

/** From the top, as few rows as needed; none when empty. */
function lagRows(
  all: readonly Series[],
  signs: readonly string[],
  axis: TimeAxis,
): readonly LagRow[] {
  const grid = marksMs.map(() => Array.from({ length: axis.columns }, () => empty));
  const used = new Set<number>();
  for (const [index, { points }] of all.entries()) {
    for (const [atMs, lagMs] of points) {
      const column = axis.columnOf(atMs);
      if (column === undefined) continue;
      const row = rowOf(lagMs);
      used.add(row);
      const cells = grid[row] ?? [];
      cells[column] = merged(cells[column] ?? empty, { sign: signs[index] ?? "·", series: index });
    }
  }
  if (used.size === 0) return [];
  const lowest = Math.min(...used);
  const highest = Math.max(...used);
  return grid
    .map((cells, row) => ({ label: durationText(marksMs[row] ?? 0), cells }))
    .slice(lowest, highest + 1)
    .reverse();
}

function rowOf(lagMs: number): number {
  const distances = marksMs.map((mark) => Math.abs(Math.log(Math.max(lagMs, 1) / mark)));
  return distances.indexOf(Math.min(...distances));
}

function merged(before: LagCell, added: LagCell): LagCell {
  if (before.sign === " " || before.series === added.series) return added;
  return { sign: together, series: undefined };
}

/**
 * The common time axis: the column of an instant, the marks of the timeline, and labels at round
 * times.
 */
const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Distances between labels, round to a reader. */
const stepsMs = [
  ...[1, 10, 100].flatMap((ten) => [ten, 2 * ten, 5 * ten]),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * secondMs),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minuteMs),
  ...[1, 2, 3, 6, 12].map((count) => count * hourMs),
  ...[1, 2, 5, 10, 20].map((count) => count * dayMs),
];

/** Width of a label with space. */
const labelColumns = 12;

/** Names of the timeline's entries; further entries have no number. */
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

  /** The line with its marks. */
  line(marksAtMs: readonly (number | undefined)[]): string {
    const cells = Array.from({ length: this.columns }, () => "─");
    for (const [index, atMs] of marksAtMs.entries()) {
      const column = atMs === undefined ? undefined : this.columnOf(atMs);
      // Of several marks in one column the first is shown.
      if (column !== undefined && cells[column] === "─") cells[column] = markName(index);
    }
    return cells.join("");
  }

  /** Labels at round times; each begins at its column. */
  labels(): string {
    const absolute = this.#labelsFrom(0, (at) => durationText(at));
    const texts = absolute.map(({ text }) => text);
    if (new Set(texts).size === texts.length) return this.#written(absolute);
    // Late in a long run all labels would be equal, so they count from the start of the axis.
    const relative = this.#labelsFrom(this.#fromMs, (at) =>
      at === this.#fromMs ? durationText(at) : `+${durationText(at - this.#fromMs)}`,
    );
    return this.#written(relative);
  }

  /** One label for each step from an instant. */
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

/** The mark of an entry, on the axis and before its text. */
export function markName(index: number): string {
  return markNames[index] ?? "·";
}
