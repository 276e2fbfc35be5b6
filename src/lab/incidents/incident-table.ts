// Results of incidents as a table of text: write-up, stock and Lockstep beside each other, never
// wider than a terminal of 80 columns. Lines can be shown one by one as results come. Pure.
import { durationText } from "../../journeys/duration-text.ts";
import type { Figure, IncidentResult, Measure, Unit } from "./incident.ts";

/** With a space between columns and two before the first: 80 in all. */
const widths = { text: 30, writeUp: 18, stock: 14, lockstep: 13 } as const;

/** What stands where something does not apply. */
const nothing = "–";

/** Above all results. */
export function tableHead(): string {
  return line(["", "write-up", "stock", "Lockstep"]);
}

/** The name of the incident, then its figures and measures, then what was fitted. */
export function resultLines(result: IncidentResult): readonly string[] {
  const { name, isFixed, figures, measures, fitted } = result;
  return [
    isFixed ? `${name}, with the fix` : name,
    ...figures.map(figureLine),
    ...measures.map(measureLine),
    ...fitted.map((text) => cut(`  fitted: ${text}`, totalWidth)),
  ];
}

export function valueText(value: number | undefined, unit: Unit): string {
  if (value === undefined) return nothing;
  switch (unit) {
    case "ms":
      return durationText(value);
    case "requests":
    case "count":
      return value.toLocaleString("en-US");
    case "per second":
      return `${value.toPrecision(3)}/s`;
    case "share":
      return `${(value * 100).toPrecision(3)} %`;
    case "factor":
      return value.toPrecision(3);
  }
}

const totalWidth = 80;

function figureLine({ text, unit, measured, expected }: Figure): string {
  const said = expected.find(({ source }) => source === "write-up")?.text ?? "";
  return line([text, said, valueText(measured, unit), nothing]);
}

function measureLine({ text, unit, stock, lockstep }: Measure): string {
  return line([text, "", valueText(stock, unit), valueText(lockstep, unit)]);
}

function line([text, writeUp, stock, lockstep]: readonly [string, string, string, string]): string {
  return [
    ` ${cut(text, widths.text).padEnd(widths.text)}`,
    cut(writeUp, widths.writeUp).padStart(widths.writeUp),
    cut(stock, widths.stock).padStart(widths.stock),
    cut(lockstep, widths.lockstep).padStart(widths.lockstep),
  ].join(" ");
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
