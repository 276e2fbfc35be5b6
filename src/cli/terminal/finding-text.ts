// Prints a finding: the verdict, the evidence with its sources, then the fix on separate lines, to
// copy.
import { explainCommand, type Finding, type Fix } from "../../doctor/finding.ts";
import { wrapText } from "./text.ts";

export interface TextOptions {
  /** Columns; default 80. */
  readonly width?: number;
}

const defaultWidth = 80;

const bullet = "  · ";
const hanging = "    ";
const labelWidth = 10;
const labelRest = " ".repeat(labelWidth);

export function findingText(finding: Finding, options: TextOptions = {}): string {
  const width = options.width ?? defaultWidth;
  const { rule, severity, confidence, hop, cause, evidence, fix, affected, page } = finding;
  const border = "─".repeat(width);
  return [
    ...wrapText(`${severity.toUpperCase()} ${rule} (${confidence})`, { width }),
    ...wrapText(cause, { width }),
    ...field("late hop", hop ?? "none", width),
    ...field("affected", affected, width),
    ...field("more", `${explainCommand(rule)}, ${page}`, width),
    "",
    "Seen",
    ...evidence.flatMap(({ text, source }) => [
      ...wrapText(text, { width, first: bullet, rest: hanging }),
      ...wrapText(source, { width, first: `${hanging}in `, rest: `${hanging}   ` }),
    ]),
    "",
    `Fix, on ${fix.component}`,
    border,
    fix.change,
    border,
    ...wrapText(fix.reason, { width }),
    ...predictedLines(fix, width),
    ...surerLines(finding, width),
    "",
  ].join("\n");
}

function field(label: string, text: string, width: number): readonly string[] {
  return wrapText(text, { width, first: `${label}: `.padEnd(labelWidth), rest: labelRest });
}

/** Evidence that is not there yet; a certain finding needs none. */
function surerLines({ confidence, missing }: Finding, width: number): readonly string[] {
  if (missing.length === 0 || confidence.startsWith("certain")) return [];
  const lines = missing.flatMap((text) => wrapText(text, { width, first: bullet, rest: hanging }));
  return ["", "To be surer", ...lines];
}

function predictedLines({ effect, notPredicted }: Fix, width: number): readonly string[] {
  if (effect !== undefined) return ["", ...wrapText(`Predicted: ${effect}`, { width })];
  if (notPredicted === undefined) return [];
  return ["", ...wrapText(`The effect was not simulated: ${notPredicted}`, { width })];
}
