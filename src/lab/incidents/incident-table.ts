// Results of incidents as a table of text: write-up, stock and Lockstep beside each other, never
// wider than a terminal of 80 columns. Lines can be shown one by one as results come. Pure.
import { durationText } from "../../journeys/duration-text.ts";
import type { IncidentResult, IncidentRow, Unit } from "./incident.ts";

/** With a space between columns and two before the first: 80 in all. */
const widths = { measure: 30, writeUp: 18, stock: 14, lockstep: 13 } as const;

/** What stands where a measure does not apply. */
const nothing = "–";

/** Above all results. */
export function tableHead(): string {
  return line(["", "write-up", "stock", "Lockstep"]);
}

/** The name of the incident, then its rows, then what was fitted. */
export function resultLines(result: IncidentResult): readonly string[] {
  const { name, isFixed, rows, fitted } = result;
  return [
    isFixed ? `${name}, with the fix` : name,
    ...rows.map(rowLine),
    ...fitted.map((text) => cut(`  fitted: ${text}`, totalWidth)),
  ];
}

export function rowLine({ measure, writeUp, stock, lockstep, unit }: IncidentRow): string {
  return line([measure, writeUp, measuredText(stock, unit), measuredText(lockstep, unit)]);
}

const totalWidth = 80;

function line([measure, writeUp, stock, lockstep]: readonly [
  string,
  string,
  string,
  string,
]): string {
  return [
    ` ${cut(measure, widths.measure).padEnd(widths.measure)}`,
    cut(writeUp, widths.writeUp).padStart(widths.writeUp),
    cut(stock, widths.stock).padStart(widths.stock),
    cut(lockstep, widths.lockstep).padStart(widths.lockstep),
  ].join(" ");
}

function measuredText(value: number | undefined, unit: Unit): string {
  if (value === undefined) return nothing;
  switch (unit) {
    case "ms":
      return durationText(value);
    case "requests":
      return value.toLocaleString("en-US");
  }
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
