// The report of `lockstep blame` for people: how many and why first, then the worst of each cause with
// what it rests on, then single requests. Pure.
import type { BlameSummary, CauseSummary } from "../../../blame/blame-summary.ts";
import { type Confidence, type RequestVerdict, staleCauses } from "../../../blame/verdict.ts";
import { causeMeanings, lengthText, verdictSentences } from "../../../blame/verdict-text.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../terminal/counted.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Column, rowLines } from "../../terminal/table.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";

export interface BlameReport {
  readonly summary: BlameSummary;
  /** What was asked for: `502, 503 or 504`. */
  readonly statuses: string;
  /** Requests in the logs in all. */
  readonly requests: number;
  /** False when the logs have lines and none of them could be read. */
  readonly isUnderstood: boolean;
  readonly rescued: number;
  /** As many as are to be shown, in the order of the logs. */
  readonly verdicts: readonly RequestVerdict[];
  /** What the evidence was, and what could not be read. */
  readonly notes: readonly string[];
  /** What was left out because there was too much of it. */
  readonly limits: readonly string[];
}

export interface BlameLineOptions {
  readonly width: number;
  readonly paint: Paint;
}

const indent = "  ";

export function blameLines(report: BlameReport, options: BlameLineOptions): readonly string[] {
  const { summary, verdicts } = report;
  const lines = [...headLines(report, options)];
  if (summary.requests === 0) return [...lines, ...noteLines(report, options)];
  lines.push("", ...causeTable(summary, options));
  lines.push("", options.paint.strong("Worst request of each cause (times are UTC)"));
  for (const { worst } of summary.causes) lines.push(...requestLines(worst, options));
  const worst = new Set(summary.causes.map((one) => one.worst));
  const others = verdicts.filter((one) => !worst.has(one));
  if (others.length > 0) {
    const all = summary.requests - worst.size;
    const count = others.length >= all ? "" : `, the first ${others.length} of ${number(all)}`;
    lines.push("", options.paint.strong(`Others${count}`));
    for (const verdict of others) lines.push(...requestLines(verdict, options));
  }
  return [...lines, ...noteLines(report, options)];
}

function headLines(report: BlameReport, { width, paint }: BlameLineOptions): readonly string[] {
  const { summary, statuses, requests, rescued } = report;
  const all = counted(requests, "request");
  const of =
    requests === 0
      ? nothingText(report)
      : `${number(summary.requests)} of ${all} ended with ${statuses}.`;
  const more =
    rescued === 0
      ? ""
      : ` ${number(rescued)} more succeeded after a failed try at another endpoint.`;
  const head = wrapText(paint.strong(of) + more, { width });
  if (summary.requests === 0) return head;
  return [...head, ...saidLines(summary, paint)];
}

function nothingText({ isUnderstood }: BlameReport): string {
  return isUnderstood
    ? "No request found in the given logs and time."
    : "No line of the access logs has a known format.";
}

function saidLines({ stale, requests, causes }: BlameSummary, paint: Paint): readonly string[] {
  const unknown = causes.find(({ cause }) => cause === "unknown")?.requests ?? 0;
  const of = (count: number): string => `${number(count)} of them (${share(count / requests)})`;
  const rest = requests - stale - unknown;
  return [
    ...(stale > 0 ? [paint.failed(`● ${of(stale)} went to a stale endpoint.`)] : []),
    ...(rest > 0 ? [`○ ${of(rest)} did not.`] : []),
    ...(unknown > 0 ? [paint.late(`? ${of(unknown)} unknown.`)] : []),
  ];
}

function causeTable(
  { causes }: BlameSummary,
  { width, paint }: BlameLineOptions,
): readonly string[] {
  const columns: readonly Column[] = [
    { width: 17, align: "left" },
    { width: 8, align: "right" },
    { width: 6, align: "right" },
    { width: 17, align: "right" },
    { width: Math.max(20, width - 56), align: "left" },
  ];
  const head = ["cause", "requests", "share", "longest delay", "services"];
  const rows = causes.flatMap((one) => {
    const late = one.worstLate === undefined ? "" : lengthText(one.worstLate);
    const cells = [one.cause, number(one.requests), share(one.share), late, services(one)];
    const told = `${causeMeanings[one.cause]}; ${confidences(one.byConfidence)}; ${period(one)}`;
    return [
      ...rowLines(cells, columns),
      ...wrapText(told, { width, first: indent, rest: indent }).map(paint.secondary),
    ];
  });
  return [...rowLines(head, columns).map(paint.secondary), ...rows];
}

function requestLines(
  verdict: RequestVerdict,
  { width, paint }: BlameLineOptions,
): readonly string[] {
  const { file, line, endedMs, status, method, host, target, cause, confidence } = verdict;
  const what = [method, `${host ?? ""}${target ?? ""}`].filter((text) => text !== undefined);
  const asked = visible(what.join(" ").trim()).slice(0, Math.max(20, width - 40));
  const head = `${visible(file)}:${line}  ${timeText(endedMs)}  ${status}  ${asked}`;
  const painted = staleCauses.has(cause) ? paint.late : (text: string) => text;
  const said = confidence === "cannot tell" ? confidence : `${confidence}: ${cause}`;
  return [
    ...wrapText(head, { width, first: indent, rest: `${indent}${indent}` }),
    `${indent}${indent}${painted(said)}`,
    ...verdictSentences(verdict).flatMap((sentence) =>
      wrapText(visible(sentence), { width, first: "    ", rest: "      " }),
    ),
  ];
}

function noteLines(
  { notes, limits }: BlameReport,
  { width, paint }: BlameLineOptions,
): readonly string[] {
  const section = (heading: string, texts: readonly string[]): readonly string[] =>
    texts.length === 0
      ? []
      : [heading, ...texts.flatMap((text) => wrapText(visible(text), { width, ...noteIndent }))];
  const [met, files] = [section("Limits reached", limits), section("Input files", notes)];
  return [
    ...(met.length === 0 ? [] : ["", ...met.map(paint.late)]),
    ...(files.length === 0 ? [] : ["", ...files.map(paint.secondary)]),
  ];
}

const noteIndent = { first: indent, rest: "    " };

function services({ services: named }: CauseSummary): string {
  const [first, ...others] = named;
  if (first === undefined) return "?";
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return visible(first.service) + more;
}

function confidences(counts: Readonly<Record<Confidence, number>>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([confidence, count]) => `${number(count)} ${confidence}`)
    .join(", ");
}

function period({ firstMs, lastMs }: CauseSummary): string {
  const [first, last] = [timeText(firstMs), timeText(lastMs)];
  return first === last ? first : `${first} to ${last}`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function share(value: number): string {
  return `${Number((value * 100).toPrecision(3))} %`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
