// What each incident meant with stock and with Lockstep, all success measures and nothing else. Pure.
import type { IncidentResult, Measure } from "../../../lab/incidents/incident.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Cell, type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { valueText } from "../../terminal/value-text.ts";

export interface SideBySideOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

const indent = "  ";
const stockColumn: Column = { width: 13, align: "right" };
const lockstepColumn: Column = { width: 11, align: "right" };
const goalColumn: Column = { width: 21, align: "left" };

/** One incident: its name, then a row for each measure. */
export function sideBySideLines(
  { name, isFixed, measures }: IncidentResult,
  { width, paint }: SideBySideOptions,
): readonly string[] {
  const columns = columnsOf(width);
  const heads: readonly Cell[] = [
    "",
    { text: "stock (model)", paint: paint.secondary },
    { text: "Lockstep", paint: paint.lockstep },
    { text: "goal for Lockstep", paint: paint.secondary },
  ];
  return [
    paint.strong(isFixed ? `${name}, with the fix` : name),
    ...rowLines(heads, columns, indent),
    ...measures.flatMap((measure) => rowLines(cellsOf(measure, paint), columns, indent)),
  ];
}

/** Below all of them. */
export function sideBySideFoot(results: readonly IncidentResult[]): string {
  const wanted = results.flatMap(({ measures }) => measures.filter(({ goal }) => goal));
  const reached = wanted.filter(({ held }) => held).length;
  return `Lockstep met ${reached} of ${wanted.length} goals.`;
}

function cellsOf({ text, unit, stock, lockstep, goal, held }: Measure, paint: Paint) {
  const sign = goal === undefined ? "" : held ? "✓ " : "✗ ";
  const aim: Cell = held
    ? `${sign}${goal ?? ""}`
    : { text: `${sign}${goal ?? ""}`, paint: paint.failed };
  return [text, valueText(stock, unit), valueText(lockstep, unit), aim];
}

function columnsOf(width: number): readonly Column[] {
  const none: Column = { width: 0, align: "left" };
  const others = [stockColumn, lockstepColumn, goalColumn];
  return [{ ...none, width: width - tableWidth([none, ...others]) - indent.length }, ...others];
}
