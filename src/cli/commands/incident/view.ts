// Prints the result of one replayed incident: what happened, the numbers beside their references, the
// effect on traffic with stock and with Lockstep, charts, and assumptions. Never wider than asked.
import { durationText } from "../../../environment/duration-text.ts";
import {
  type Bounded,
  type Expectation,
  type Figure,
  isBounded,
  isCompared,
  isWithinBounds,
  type Unit,
} from "../../../lab/incidents/figure.ts";
import type { Incident, IncidentResult, Measure } from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Cell, type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText, percentText, valueText } from "../../terminal/value-text.ts";
import { chartLines, markName } from "./charts.ts";

interface ResultOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

type Story = Pick<Incident, "summary" | "cause" | "fix">;

const indent = "  ";

const numbers: Column = { width: 11, align: "right" };
const sides: Column = { width: 13, align: "right" };
/** `✓ 10 min to 12 min`; longer texts are wrapped. */
const verdict: Column = { width: 18, align: "left" };

/** `about 600 (real)`, `✓ as in quiet times`: enough for most. */
const seenLeastWidth = 16;
const goalLeastWidth = 19;

/** `33:15:54` and a space; `100:00:00` is longer than every play. */
const timeColumns = 9;

export function resultLines(
  incident: Story,
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
    ...storyLines(incident, isFixed, width),
    paint.secondary(circumstances(result)),
    ...verdictLines(result, options),
    ...section(timelineTitle(result), timeline.length, () => timelineLines(result, options), paint),
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

/** Symptom, cause and fix come first, because a reader can act on them. */
function storyLines({ summary, cause, fix }: Story, isFixed: boolean, width: number) {
  if (isFixed) return wrapText(`With the fix: ${fix}.`, { width });
  return [
    ...wrapText(`${capital(summary)}.`, { width }),
    ...wrapText(`${capital(cause)}.`, { width, first: "  cause  ", rest: "         " }),
    // No full stop, because the fix is copied.
    ...wrapText(capital(fix), { width, first: "  fix    ", rest: "         " }),
  ];
}

/** Simulated or real time, and the seed that repeats it. */
function circumstances({ stage, durationMs, seed }: IncidentResult): string {
  const passed = durationText(durationMs);
  return stage === "virtual"
    ? `${passed} of simulated time, seed ${seed}`
    : `${passed} of real time`;
}

/** The verdict comes before the evidence. */
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

function timelineTitle({ stage }: IncidentResult): string {
  return `What happened (h:mm:ss of ${stage === "virtual" ? "simulated" : "real"} time)`;
}

/** Each stage has its own clock. */
function timelineLines({ timeline }: IncidentResult, { width, paint }: ResultOptions) {
  return timeline.flatMap(({ text, atMs, stage }, index) => {
    const time = clockText(atMs).padStart(timeColumns - 1);
    const isNextStage = index > 0 && (timeline[index - 1]?.stage ?? 1) !== (stage ?? 1);
    const [first = "", ...rest] = wrapText(text, { width: width - timeColumns - 4 });
    const below = " ".repeat(timeColumns + 4);
    return [
      ...(isNextStage ? [paint.secondary(`${indent}another cluster, from 0:00:00`)] : []),
      `${indent}${markName(index)} ${paint.secondary(time)} ${first}`,
      ...rest.map((line) => below + line),
    ];
  });
}

/** `0:03:15`, `33:15:54`: two entries of one day stay apart. */
function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  const digits = [minutes, rest].map((value) => String(value).padStart(2, "0"));
  return [Math.floor(seconds / 3_600), ...digits].join(":");
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

/** One row for each reference; the first is beside the number. */
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

/** The bounds, and the difference for a number outside them. */
function boundsCell(figure: Figure, expectation: Expectation, paint: Paint): Cell {
  if (!isBounded(expectation)) return "";
  const { verdict: found, text: difference } = compare(figure, expectation);
  const bounds = boundsText(expectation, figure.unit);
  const isInside = found === "inside";
  return verdictCell(isInside, isInside ? bounds : `${difference}: ${bounds}`, paint);
}

export function measureTable(
  measures: readonly Measure[],
  options: ResultOptions,
): readonly string[] {
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

/** A sign and words, because a terminal may have no colours. */
function verdictCell(isGood: boolean, text: string, paint: Paint): Cell {
  return isGood ? `✓ ${text}` : { text: `✗ ${text}`, paint: paint.failed };
}

/**
 * Widths of the first column and of one other: as wide as their texts where there is room. The other one
 * shrinks to its least width. Longer cells are wrapped.
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

/** A measured value beside its reference. "shown": it has no bounds, or an assumption decides it. */
interface Comparison {
  readonly verdict: "inside" | "outside" | "shown";
  /** `+0.3 %`, `as seen`, `outside, +12 %`; empty where it is only shown. */
  readonly text: string;
}

const finestShare = 0.001;

export function compare(
  { measured, fittedBy }: Pick<Figure, "measured" | "fittedBy">,
  expectation: Expectation,
): Comparison {
  if (fittedBy !== undefined || !isBounded(expectation)) return { verdict: "shown", text: "" };
  if (measured === undefined) return { verdict: "outside", text: "not measured" };
  const { from, to, value } = expectation;
  if (measured < from) return { verdict: "outside", text: `outside, ${distance(measured, from)}` };
  if (measured > to) return { verdict: "outside", text: `outside, ${distance(measured, to)}` };
  return { verdict: "inside", text: insideText(measured, from, to, value) };
}

/** The text of the reference, and whether the real binaries were measured. */
export function seenText({ source, text }: Expectation): string {
  return source === "write-up" ? text : `${text} (real)`;
}

/** `10 min to 12 min`, `exactly 12,954`. */
export function boundsText({ from, to }: Pick<Bounded, "from" | "to">, unit: Unit): string {
  if (from === to) return `exactly ${valueText(from, unit)}`;
  return `${valueText(from, unit)} to ${valueText(to, unit)}`;
}

/** A difference is shown only from an exact reference, never from the middle of a range. */
function insideText(
  measured: number,
  low: number,
  high: number,
  value: number | undefined,
): string {
  if (low === high || measured === value) return "the same";
  return value === undefined ? "as seen" : distance(measured, value);
}

/** In percent; absolute where the reference is 0. */
function distance(measured: number, reference: number): string {
  const difference = measured - reference;
  const sign = difference < 0 ? "−" : "+";
  if (reference === 0) return `${sign}${numberText(Math.abs(difference))}`;
  const share = Math.abs(difference / reference);
  if (share < finestShare) return `within ${percentText(finestShare)}`;
  const digits = share < 0.1 ? 1000 : 100;
  return `${sign}${percentText(Math.round(share * digits) / digits)}`;
}

/** `Simulation matches the reference in 10 of 10 numbers. Lockstep met 3 of 3 goals.` */
export function verdictText(result: IncidentResult): string | undefined {
  const parts = [figuresText(result), goalsText(result)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.map((part) => `${part}.`).join(" ");
}

/** `10 of 10`: compared numbers within their bounds. */
function figureCount({ figures }: Pick<IncidentResult, "figures">): string | undefined {
  const compared = figures.filter(isCompared);
  return countText(compared.length, compared.filter(isWithinBounds).length);
}

function goalCount({ measures }: Pick<IncidentResult, "measures">): string | undefined {
  const wanted = measures.filter(({ goal }) => goal !== undefined);
  return countText(wanted.length, wanted.filter(({ held }) => held).length);
}

function figuresText(result: IncidentResult): string | undefined {
  const count = figureCount(result);
  const wrong = result.figures.filter((figure) => !isWithinBounds(figure));
  return count && `Simulation matches the reference in ${count} numbers${namesOf(wrong)}`;
}

function goalsText(result: IncidentResult): string | undefined {
  const count = goalCount(result);
  const missed = result.measures.filter(({ held }) => !held);
  return count && `Lockstep met ${count} goals${namesOf(missed)}`;
}

function countText(all: number, good: number): string | undefined {
  return all === 0 ? undefined : `${good} of ${all}`;
}

function namesOf(those: readonly { readonly text: string }[]): string {
  return those.length === 0 ? "" : ` (failed: ${those.map(({ text }) => text).join(", ")})`;
}

/** Every compared number is within its bounds, and Lockstep met every goal. */
export function didHold({ figures, measures }: IncidentResult): boolean {
  return figures.every(isWithinBounds) && measures.every(({ held }) => held);
}
