// Results as one table: write-up, stock and Lockstep beside each other, a block for each incident.
// Lines can be shown one by one as results come. Pure.
import type { Figure, IncidentResult, Measure } from "../../lab/incidents/incident.ts";
import type { Paint } from "../paint.ts";
import { isInside, seenText } from "./comparison.ts";
import { type Cell, type Column, rowLines } from "./table.ts";
import { nothing, valueText } from "./value-text.ts";

export interface SummaryOptions {
  /** Columns. */
  readonly width: number;
  readonly paint: Paint;
}

const verdict: Column = { width: 1, align: "left" };
const writeUp: Column = { width: 16, align: "right" };
const numbers: Column = { width: 13, align: "right" };

/** Of the columns that are not the text, with the gaps. */
const takenColumns = 1 + 16 + 13 + 13 + 4 * 2;

/** Above all results. */
export function summaryHead(options: SummaryOptions): readonly string[] {
  const { secondary, lockstep } = options.paint;
  const heads: readonly Cell[] = [
    "",
    "",
    { text: "write-up", paint: secondary },
    { text: "stock (model)", paint: secondary },
    { text: "Lockstep", paint: lockstep },
  ];
  return rowLines(heads, columnsOf(options));
}

/** The name of the incident, then its figures and its measures. */
export function summaryLines(result: IncidentResult, options: SummaryOptions): readonly string[] {
  const { name, isFixed, figures, measures } = result;
  const columns = columnsOf(options);
  return [
    options.paint.strong(isFixed ? `${name}, with the fix` : name),
    ...figures.flatMap((figure) => rowLines(figureCells(figure, options.paint), columns)),
    ...measures.flatMap((measure) => rowLines(measureCells(measure, options.paint), columns)),
  ];
}

/** Whether every figure lies where it was seen elsewhere, and Lockstep reached every goal. */
export function didHold({ figures, measures }: IncidentResult): boolean {
  return figures.every(isInside) && measures.every(({ held }) => held);
}

/** The figures come from the stock components alone. */
function figureCells(figure: Figure, paint: Paint): readonly Cell[] {
  const { text, unit, measured, expected } = figure;
  const seen = expected.find(({ source }) => source === "write-up") ?? expected[0];
  const isCompared = expected.some(({ from, to }) => from !== undefined || to !== undefined);
  const sign = isCompared ? verdictCell(isInside(figure), paint) : "";
  return [sign, text, seen === undefined ? "" : seenText(seen), valueText(measured, unit), nothing];
}

function measureCells(measure: Measure, paint: Paint): readonly Cell[] {
  const { text, unit, stock, lockstep, goal, held } = measure;
  const sign = goal === undefined ? "" : verdictCell(held, paint);
  return [sign, text, "", valueText(stock, unit), valueText(lockstep, unit)];
}

function verdictCell(isGood: boolean, paint: Paint): Cell {
  return isGood ? "●" : { text: "!", paint: paint.failed };
}

function columnsOf({ width }: SummaryOptions): readonly Column[] {
  const text: Column = { width: width - takenColumns, align: "left" };
  return [verdict, text, writeUp, numbers, numbers];
}
