// The charts of a result, one above the other on one time axis, so that cause and effect line up:
// quantities first, then the lag of each change, then the axis with the marks of the timeline.

import type { Series, TimelineEntry } from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { valueText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { type LagCell, lagRows, together } from "./lag-chart.ts";
import { levelRows, topOf } from "./level-chart.ts";
import { TimeAxis } from "./time-axis.ts";

export interface ChartOptions {
  /** Columns in all. */
  readonly width: number;
  readonly paint: Paint;
}

/** For the labels of the scale: `10 min 46 s` and a space. */
const gutterColumns = 12;

/** Of one series that stands alone, and of each that shares its chart. */
const rowsAlone = 4;
const rowsShared = 2;

/** For series of lags that belong to no side; those of the sides have theirs. */
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

/** All on one axis. */
function stageCharts(
  series: readonly Series[],
  marksAtMs: readonly (number | undefined)[],
  options: ChartOptions,
): readonly string[] {
  const instants = series.flatMap(({ points }) => points.map(([atMs]) => atMs));
  if (instants.length === 0) return [];
  // An axis with nothing above it says nothing.
  const isEmpty = topOf(series) === 0;
  const axis = new TimeAxis({
    fromMs: instants.reduce((least, atMs) => Math.min(least, atMs), Infinity),
    // What is known last holds until the play is over.
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

/** When each entry was, in its place; undefined for those of other stages. */
function marksOf(
  timeline: readonly TimelineEntry[],
  stage: number,
): readonly (number | undefined)[] {
  return timeline.map((entry) => (stageOf(entry) === stage ? entry.atMs : undefined));
}

/** Series of one text are compared: they share a chart and its scale. */
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

/** Where the scale ends; of two above each other, whose it is. */
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
