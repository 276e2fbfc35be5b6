// Many results as one table that is read at a glance: what tells each incident in a line, seen
// elsewhere, with stock and with Lockstep, and whatever is not as it should be. Pure.

import { type Figure, isWithinBounds } from "../../../lab/incidents/figure.ts";
import type { IncidentResult, Measure } from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Cell, type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { valueText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { seenText } from "./comparison.ts";
import { verdictText } from "./verdict-text.ts";

export interface SummaryOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

const indent = "  ";

const sign: Column = { width: 1, align: "left" };
const others: readonly Column[] = [
  { width: 14, align: "right" },
  { width: 13, align: "right" },
  { width: 11, align: "right" },
];

/** Above all results. */
export function summaryHead(options: SummaryOptions): readonly string[] {
  const { secondary, lockstep } = options.paint;
  const heads: readonly Cell[] = [
    "",
    "",
    { text: "reference", paint: secondary },
    { text: "stock (model)", paint: secondary },
    { text: "Lockstep", paint: lockstep },
  ];
  return rowLines(heads, columnsOf(options), indent);
}

/** The name of the incident and how much of it held, then its headlines and what did not hold. */
export function summaryLines(result: IncidentResult, options: SummaryOptions): readonly string[] {
  const { name, isFixed, figures, measures } = result;
  const { paint } = options;
  const columns = columnsOf(options);
  const verdict = verdictText(result);
  const title = `${didHold(result) ? "✓" : "✗"} ${isFixed ? `${name}, with the fix` : name}`;
  return [
    paint.strong(title),
    ...(verdict === undefined ? [] : verdictLines(verdict, options)),
    ...figures
      .filter((figure) => figure.isHeadline === true || !isWithinBounds(figure))
      .flatMap((figure) => rowLines(figureCells(figure, paint), columns, indent)),
    ...measures
      .filter((measure) => measure.isHeadline === true || !measure.held)
      .flatMap((measure) => rowLines(measureCells(measure, result, paint), columns, indent)),
  ];
}

/** Below them: what the signs mean, and how many held. */
export function summaryFoot(
  results: readonly IncidentResult[],
  { width, paint }: SummaryOptions,
): readonly string[] {
  const legend =
    "✗ at least one compared number is outside its bounds, or Lockstep missed a goal. " +
    "reference: from the incident report; (real): measured with the real binaries.";
  return [
    "",
    ...wrapText(legend, { width }).map(paint.secondary),
    `Passed: ${results.filter(didHold).length} of ${results.length} replays.`,
  ];
}

/** Whether every compared figure is within its bounds, and Lockstep reached every goal. */
export function didHold({ figures, measures }: IncidentResult): boolean {
  return figures.every(isWithinBounds) && measures.every(({ held }) => held);
}

/** The figures come from the stock components alone. */
function figureCells(figure: Figure, paint: Paint): readonly Cell[] {
  const { text, unit, measured, expected, fittedBy } = figure;
  const seen = expected.find(({ source }) => source === "write-up") ?? expected[0];
  return [
    signCell(isWithinBounds(figure), paint),
    fittedBy === undefined ? text : `${text} (assumed)`,
    seen === undefined ? "" : seenText(seen),
    valueText(measured, unit),
  ];
}

function measureCells(measure: Measure, result: IncidentResult, paint: Paint): readonly Cell[] {
  const { text, unit, stock, lockstep, held } = measure;
  const name = `${text}${denominator(measure, result)}`;
  return [signCell(held, paint), name, "", valueText(stock, unit), valueText(lockstep, unit)];
}

/** Lost requests mean nothing without how many were sent, which are as many on both sides. */
function denominator({ id }: Measure, { measures }: IncidentResult): string {
  const sent = measures.find((one) => one.id === "requests-sent");
  if (id !== "requests-lost" || sent === undefined) return "";
  return ` of ${valueText(sent.lockstep, sent.unit)}`;
}

/** Good is the rule in such a table, so only the exception is marked. */
function signCell(isGood: boolean, paint: Paint): Cell {
  return isGood ? "" : { text: "✗", paint: paint.failed };
}

function verdictLines(text: string, { width, paint }: SummaryOptions): readonly string[] {
  return wrapText(text, { width, first: indent, rest: indent }).map(paint.secondary);
}

function columnsOf({ width }: SummaryOptions): readonly Column[] {
  const none: Column = { width: 0, align: "left" };
  const taken = tableWidth([sign, none, ...others]) + indent.length;
  return [sign, { ...none, width: width - taken }, ...others];
}
