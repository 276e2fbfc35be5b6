// One result for a person at a terminal: what happened, the figures beside those seen elsewhere, what
// it meant for traffic on both sides, the charts, and the inputs. Never wider than asked.

import { durationText } from "../../../environment/duration-text.ts";
import { type Expectation, type Figure, isBounded } from "../../../lab/incidents/figure.ts";
import type {
  Incident,
  IncidentResult,
  Measure,
  TimelineEntry,
} from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Cell, type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { valueText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { chartLines } from "./charts.ts";
import { boundsText, compare, seenText } from "./comparison.ts";
import { didHold } from "./summary-lines.ts";
import { markName } from "./time-axis.ts";
import { verdictText } from "./verdict-text.ts";

export interface ResultOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

type Told = Pick<Incident, "summary" | "cause" | "fix">;

const indent = "  ";

const numbers: Column = { width: 11, align: "right" };
const sides: Column = { width: 13, align: "right" };
/** `✓ 10 min to 12 min`; longer ones go on below. */
const verdict: Column = { width: 18, align: "left" };

/** `about 600 (real)`, `✓ as in quiet times`: what most of these need. */
const seenLeastWidth = 16;
const goalLeastWidth = 19;

/** `+15 min 54 s` and a space. */
const timeColumns = 13;

export function resultLines(
  incident: Told,
  result: IncidentResult,
  options: ResultOptions,
): readonly string[] {
  const { width, paint } = options;
  const { name, isFixed, timeline, figures, measures, series, fitted } = result;
  const charts = chartLines(series, timeline, options);
  const results = figures.filter(({ fittedBy }) => fittedBy === undefined);
  const inputs = figures.filter(({ fittedBy }) => fittedBy !== undefined);
  return [
    paint.strong(isFixed ? `${name}, with the fix` : name),
    ...toldLines(incident, isFixed, width),
    paint.secondary(circumstances(result)),
    ...verdictLines(result, options),
    ...section("What happened", timeline.length, () => timelineLines(result, options), paint),
    ...section("Numbers", results.length, () => figureTable(results, "bounds", options), paint),
    ...section(
      "Numbers that follow from an assumption (not compared)",
      inputs.length,
      () => figureTable(inputs, "assumption", options),
      paint,
    ),
    ...section(
      "Effect on traffic and goals",
      measures.length,
      () => measureTable(measures, options),
      paint,
    ),
    ...(charts.length === 0 ? [] : ["", ...charts]),
    ...section(
      "Assumptions (not in the incident report)",
      fitted.length,
      () => fitted.flatMap((text) => wrapText(text, { width, first: "  · ", rest: "    " })),
      paint,
    ),
  ];
}

/** What people saw, why it was so and what to do about it: what a reader can act on comes first. */
function toldLines({ summary, cause, fix }: Told, isFixed: boolean, width: number) {
  if (isFixed) return wrapText(`With the fix: ${fix}.`, { width });
  return [
    ...wrapText(`${capital(summary)}.`, { width }),
    ...wrapText(`${capital(cause)}.`, { width, first: "  cause  ", rest: "         " }),
    // Without a full stop, which would be copied with it.
    ...wrapText(capital(fix), { width, first: "  fix    ", rest: "         " }),
  ];
}

/** What kind of time passed, how much, and what to type to see the same again. */
function circumstances({ stage, durationMs, seed }: IncidentResult): string {
  const passed = durationText(durationMs);
  return stage === "virtual"
    ? `${passed} of simulated time, seed ${seed}`
    : `${passed} of real time`;
}

/** Before the evidence. */
function verdictLines(result: IncidentResult, { width, paint }: ResultOptions): readonly string[] {
  const text = verdictText(result);
  if (text === undefined) return [];
  const lines = wrapText(text, { width, first: didHold(result) ? "✓ " : "✗ ", rest: "  " });
  return didHold(result) ? lines : lines.map(paint.failed);
}

function section(
  title: string,
  count: number,
  lines: () => readonly string[],
  paint: Paint,
): readonly string[] {
  return count === 0 ? [] : ["", paint.strong(title), ...lines()];
}

function timelineLines({ timeline }: IncidentResult, { width, paint }: ResultOptions) {
  return timeline.flatMap((entry, index) => {
    const { text } = entry;
    const time = timeText(entry, timeline[index - 1]).padStart(timeColumns - 1);
    const [first = "", ...rest] = wrapText(text, { width: width - timeColumns - 4 });
    const below = " ".repeat(timeColumns + 4);
    return [
      `${indent}${markName(index)} ${paint.secondary(time)} ${first}`,
      ...rest.map((line) => below + line),
    ];
  });
}

/** Since its stage was opened; since the entry before, where both would read the same. */
function timeText({ stage, atMs }: TimelineEntry, before: TimelineEntry | undefined): string {
  const text = durationText(atMs);
  if (before === undefined || before.stage !== stage || atMs <= before.atMs) return text;
  return durationText(before.atMs) === text ? `+${durationText(atMs - before.atMs)}` : text;
}

function figureTable(
  figures: readonly Figure[],
  lastHead: string,
  options: ResultOptions,
): readonly string[] {
  const { paint } = options;
  const texts = figures.map(({ text }) => text);
  const said = figures.flatMap(({ expected }) => expected.map(seenText));
  const sharing = { texts, seconds: said, leastWidth: seenLeastWidth };
  const [text, seen] = widths(options, [numbers, verdict], sharing);
  const columns = [{ ...none, width: text }, numbers, { ...none, width: seen }, verdict];
  const head = ["", "this run", "reference", lastHead].map((text) => ({
    text,
    paint: paint.secondary,
  }));
  return [
    ...rowLines(head, columns, indent),
    ...figures.flatMap((figure) => figureRows(figure, columns, paint)),
    ...(figures.some(({ expected }) => expected.some(isReal)) ? [paint.secondary(realNote)] : []),
  ];
}

const realNote = `${indent}reference (real): measured with the real binaries of that version`;

function isReal({ source }: Expectation): boolean {
  return source === "real binaries";
}

/** A row for each place where it was seen, the first beside the figure. */
function figureRows(figure: Figure, columns: readonly Column[], paint: Paint): readonly string[] {
  const { text, unit, measured, expected, fittedBy = "" } = figure;
  const own = [text, valueText(measured, unit)] as const;
  if (expected.length === 0) return rowLines([...own, "", fittedBy], columns, indent);
  return expected.flatMap((one, index) => {
    const [name, value, input] = index === 0 ? [...own, fittedBy] : ["", "", ""];
    const last = figure.fittedBy === undefined ? boundsCell(figure, one, paint) : input;
    return rowLines([name, value, seenText(one), last], columns, indent);
  });
}

/** The bounds and, outside, by how much. */
function boundsCell(figure: Figure, expectation: Expectation, paint: Paint): Cell {
  if (!isBounded(expectation)) return "";
  const { verdict: found, text: difference } = compare(figure, expectation);
  const bounds = boundsText(expectation, figure.unit);
  const isInside = found === "inside";
  return verdictCell(isInside, isInside ? bounds : `${difference}: ${bounds}`, paint);
}

function measureTable(measures: readonly Measure[], options: ResultOptions): readonly string[] {
  const { paint } = options;
  const texts = measures.map(({ text }) => text);
  const goals = measures.map(({ goal }) => `✓ ${goal ?? ""}`);
  const sharing = { texts, seconds: goals, leastWidth: goalLeastWidth };
  const [first, last] = widths(options, [sides, sides], sharing);
  const columns = [{ ...none, width: first }, sides, sides, { ...none, width: last }];
  const head: readonly Cell[] = [
    "",
    { text: "stock (model)", paint: paint.secondary },
    { text: "Lockstep", paint: paint.lockstep },
    { text: "goal for Lockstep", paint: paint.secondary },
  ];
  return [
    ...rowLines(head, columns, indent),
    ...measures.flatMap(({ text, unit, stock, lockstep, goal, held }) => {
      const wanted = goal === undefined ? "" : verdictCell(held, goal, paint);
      const cells = [text, valueText(stock, unit), valueText(lockstep, unit), wanted];
      return rowLines(cells, columns, indent);
    }),
  ];
}

/** Said in a sign and in words; the colour only helps. */
function verdictCell(isGood: boolean, text: string, paint: Paint): Cell {
  return isGood ? `✓ ${text}` : { text: `✗ ${text}`, paint: paint.failed };
}

/**
 * A table whose first column is as wide as its texts, and so is one other where there is room, which
 * gives way down to its least width. Cells that are still too long are wrapped.
 */
function widths(
  options: ResultOptions,
  others: readonly Column[],
  { texts, seconds, leastWidth }: Sharing,
): readonly [number, number] {
  const longest = (all: readonly string[]) => Math.max(0, ...all.map(({ length }) => length));
  const taken = tableWidth([...others, none, none]);
  const room = options.width - indent.length - taken;
  const first = Math.min(longest(texts), room - leastWidth);
  return [first, Math.max(leastWidth, Math.min(longest(seconds), room - first))];
}

interface Sharing {
  readonly texts: readonly string[];
  readonly seconds: readonly string[];
  readonly leastWidth: number;
}

const none: Column = { width: 0, align: "left" };

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
