// Several incidents together: the list, the table of `--all`, the goals of `--compare` and the document
// of `--json`. The table shows the headlines of each incident and everything that failed. Pure.
import { allIncidents } from "../../../lab/incidents/all-incidents.ts";
import { type Figure, isWithinBounds } from "../../../lab/incidents/figure.ts";
import type { Incident, IncidentResult, Measure } from "../../../lab/incidents/incident.ts";
import type { CommandContext } from "../../command.ts";
import type { Paint } from "../../terminal/paint.ts";
import { paintFor } from "../../terminal/paint.ts";
import { type Cell, type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { reportColumns, wrapText } from "../../terminal/text.ts";
import { valueText } from "../../terminal/value-text.ts";
import { typedCommand } from "../../typed-command.ts";
import type { IncidentFlags } from "./command.ts";
import { compare, didHold, measureTable, seenText, verdictText } from "./view.ts";

interface SummaryOptions {
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

/** The title row. */
export function summaryHead(options: SummaryOptions, title = ""): readonly string[] {
  const { secondary, lockstep } = options.paint;
  const heads: readonly Cell[] = [
    "",
    title,
    { text: "reference", paint: secondary },
    { text: "stock (model)", paint: secondary },
    { text: "Lockstep", paint: lockstep },
  ];
  return rowLines(heads, columnsOf(options), indent);
}

/** Name and verdict of an incident, its headlines and everything that failed. */
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

/** The legend and the number of passed replays. */
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

/** These numbers come from the stock components only. */
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

/** Lost requests are shown with the number sent, which is the same for both sides. */
function denominator({ id }: Measure, { measures }: IncidentResult): string {
  const sent = measures.find((one) => one.id === "requests-sent");
  if (id !== "requests-lost" || sent === undefined) return "";
  return ` of ${valueText(sent.lockstep, sent.unit)}`;
}

/** Only failures are marked. */
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

/** `--compare`: only the goals, stock beside Lockstep. */
export function sideBySideLines(
  { name, isFixed, measures }: IncidentResult,
  options: SummaryOptions,
): readonly string[] {
  const title = isFixed ? `${name}, with the fix` : name;
  return [options.paint.strong(title), ...measureTable(measures, options)];
}

/** The last line of `--compare`. */
export function sideBySideFoot(results: readonly IncidentResult[]): string {
  const wanted = results.flatMap(({ measures }) => measures.filter(({ goal }) => goal));
  const reached = wanted.filter(({ held }) => held).length;
  return `Lockstep met ${reached} of ${wanted.length} goals.`;
}

/** The version of the `--json` document. Fields are added without a new version; none is removed or changes its meaning. */
const documentVersion = 1;

export function reportDocument(results: readonly IncidentResult[]): object {
  return {
    kind: "lockstep-incidents",
    version: documentVersion,
    held: results.every(didHold),
    incidents: results.map((result) => ({
      ...result,
      ...storyOf(allIncidents.find(({ name }) => name === result.name)),
      traceHash: result.traceHash ?? null,
      held: didHold(result),
      figures: result.figures.map((figure) => ({
        ...figure,
        measured: figure.measured ?? null,
        expected: figure.expected.map((one) => {
          const { verdict, text: difference } = compare(figure, one);
          return { ...one, verdict, difference };
        }),
      })),
      measures: result.measures.map((measure) => ({
        ...measure,
        stock: measure.stock ?? null,
        lockstep: measure.lockstep ?? null,
        goal: measure.goal ?? null,
      })),
    })),
  };
}

/** The description of an incident, known before it is replayed. */
export function storyOf(incident: Incident | undefined): object {
  return { summary: incident?.summary, cause: incident?.cause, fix: incident?.fix };
}

/** A hint below a single replay. */
export function nextStep(context: CommandContext, [result]: readonly IncidentResult[]): string {
  const { secondary } = paintFor(context.terminal);
  const command = typedCommand(
    context.environment.processes,
    `incident ${result?.name ?? "NAME"} --fix`,
  );
  return `${secondary("Replay it with the fix:")}  ${command}`;
}

export function listing(context: CommandContext, { json }: Pick<IncidentFlags, "json">): string {
  const paint = paintFor(context.terminal);
  if (json) {
    const incidents = allIncidents.map((one) => ({ name: one.name, ...storyOf(one) }));
    return `${JSON.stringify({ kind: "lockstep-incident-names", version: 1, incidents })}\n`;
  }
  const width = reportColumns(context.terminal);
  const named = allIncidents.flatMap(({ name, summary, cause, fix }) => [
    paint.strong(name),
    ...wrapText(summary, { width, first: "  ", rest: "  " }),
    ...wrapText(`cause: ${cause}`, { width, first: "  ", rest: "  " }).map(paint.secondary),
    ...wrapText(`fix: ${fix}`, { width, first: "  ", rest: "  " }).map(paint.secondary),
  ]);
  const [first] = allIncidents;
  const { processes } = context.environment;
  return `${named.join("\n")}

Replay one:      ${typedCommand(processes, `incident ${first?.name ?? "NAME"}`)}
With its fix:    add --fix
All of them:     ${typedCommand(processes, "incident --all")}
`;
}
