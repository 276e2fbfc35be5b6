// Prints the verdicts of `lockstep blame`: a report with the summary, the worst case of each cause
// and single requests; or JSON, one object a line. Pure.

import type { BlamedLog } from "../../../blame/blame-log.ts";
import type { BlameSummary, CauseSummary } from "../../../blame/blame-summary.ts";
import type { Moment } from "../../../blame/pod-life.ts";
import type { ProxyClock } from "../../../blame/proxy-clock.ts";
import type { Span } from "../../../blame/span.ts";
import {
  type Confidence,
  type RequestVerdict,
  staleCauses,
  type TryVerdict,
} from "../../../blame/verdict.ts";
import { causeMeanings, lengthText, verdictSentences } from "../../../blame/verdict-text.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../../environment/counted.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Column, rowLines } from "../../terminal/table.ts";
import { wrapText } from "../../terminal/text.ts";

interface BlameReport {
  readonly summary: BlameSummary;
  /** `502, 503 or 504`. */
  readonly statuses: string;
  /** All requests in the logs. */
  readonly requests: number;
  /** False when the logs have lines and none of them could be read. */
  readonly isUnderstood: boolean;
  readonly rescued: number;
  /** The requests to show, in the order of the logs. */
  readonly verdicts: readonly RequestVerdict[];
  /** The input data, and problems with it. */
  readonly notes: readonly string[];
  /** The limits that were reached. */
  readonly limits: readonly string[];
}

interface BlameLineOptions {
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
    ...(rest > 0 ? [`○ ${of(rest)} failed for another reason.`] : []),
    ...(unknown > 0 ? [paint.late(`? ${of(unknown)}: cause unknown.`)] : []),
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
    const meaning = `${causeMeanings[one.cause]}; ${confidences(one.byConfidence)}; ${period(one)}`;
    return [
      ...rowLines(cells, columns),
      ...wrapText(meaning, { width, first: indent, rest: indent }).map(paint.secondary),
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

// One sentence for each problem of an access log: unknown lines, fields that verdicts need, and a
// clock that differs.

/** No line was readable. An empty log is not a problem: it has no failed request. */
export function isNothingUnderstood(logs: readonly BlamedLog[]): boolean {
  return (
    logs.every(({ report }) => report.entries.size === 0) &&
    logs.some(({ report }) => report.notUnderstood > 0)
  );
}

/** One sentence for each limit that was reached. */
export function logLimits(file: string, { withTriesLeftOut }: BlamedLog): readonly string[] {
  if (withTriesLeftOut === 0) return [];
  return [
    `${file}: of ${counted(withTriesLeftOut, "request")} only the first 15 tries and the last one ` +
      "were judged, so no verdict on them is certain.",
  ];
}

export function logNotes(file: string, blamed: BlamedLog): readonly string[] {
  const { report, requests, clock, inDoubt } = blamed;
  const { lines, entries, notUnderstood, example, withoutEndpoints } = report;
  const formats = [...entries.keys()].join(", ");
  const count = (value: number): string => value.toLocaleString("en-US");
  const notes = [
    formats === ""
      ? `${file}: no request in ${counted(lines, "line")}.`
      : `${file}: ${counted(requests, "request")}, ${formats}.`,
  ];
  if (notUnderstood > 0 && example !== undefined) {
    notes.push(
      `${file}: ${count(notUnderstood)} of ${counted(lines, "line")} not understood; the first ` +
        `is line ${example.line}: ${example.problem}: ${example.excerpt}`,
    );
  }
  if (withoutEndpoints > 0) {
    notes.push(
      `${file}: ${counted(withoutEndpoints, "request")} without the endpoints that were tried; add ` +
        "$upstream_addr, $upstream_status and $upstream_response_time to the proxy's log_format, or " +
        "describe the lines with --log-format.",
    );
  }
  if (inDoubt.withoutDuration > 0) {
    notes.push(
      `${file}: no duration for ${counted(inDoubt.withoutDuration, "request")}. The end of a request ` +
        "counts as its start, so no verdict on it is certain. Add $request_time and " +
        "$upstream_response_time to the proxy's log_format.",
    );
  }
  if (inDoubt.withoutZone > 0) {
    notes.push(
      `${file}: the times of ${counted(inDoubt.withoutZone, "request")} have no time zone and were ` +
        "read as UTC, so no verdict on them is certain. $time_iso8601 has the zone.",
    );
  }
  if (clock.type !== "agrees") notes.push(`${file}: ${clockNote(clock)}`);
  return notes;
}

function clockNote(clock: Exclude<ProxyClock, { readonly type: "agrees" }>): string {
  const seen = "by its times, pods answered before they existed or after they were deleted";
  if (clock.type === "doubted") {
    return (
      `${seen}. Its clock is wrong, or the evidence is of other pods. No verdict is certain. ` +
      "If you know the difference of the clocks, use --skew."
    );
  }
  const { fromMs, toMs } = clock.by;
  const isBehind = fromMs > 0;
  const by = isBehind ? { leastMs: fromMs, mostMs: toMs } : { leastMs: -toMs, mostMs: -fromMs };
  return (
    `${seen}. Its clock is ${lengthText(by)} ${isBehind ? "behind" : "ahead of"} the clusters' clocks. ` +
    "The times were corrected. No verdict is certain."
  );
}

/** The version of both kinds of line; fields may be added without a new one. */
const documentVersion = 1;

export function verdictLine(verdict: RequestVerdict): string {
  const { cause, endedMs, tries, because } = verdict;
  return jsonLine({
    type: "verdict",
    version: documentVersion,
    ...verdict,
    endedMs: undefined,
    at: iso(endedMs),
    isStale: staleCauses.has(cause),
    because: because === "" ? undefined : because,
    text: verdictSentences(verdict),
    tries: tries.map(tryDocument),
  });
}

interface WholeSummary extends BlameSummary {
  /** All requests in the logs. */
  readonly all: number;
  /** One sentence for each limit that was reached. */
  readonly limits: readonly string[];
}

export function summaryLine(summary: WholeSummary): string {
  const { requests, stale, all, causes, limits } = summary;
  return jsonLine({
    type: "summary",
    version: documentVersion,
    requestsInLogs: all,
    requests,
    stale,
    limits,
    causes: causes.map(({ firstMs, lastMs, worst, ...cause }) => ({
      ...cause,
      isStale: staleCauses.has(cause.cause),
      first: iso(firstMs),
      last: iso(lastMs),
      worst: { file: worst.file, line: worst.line },
    })),
  });
}

function tryDocument(verdict: TryVerdict): object {
  const { sent, left, dead, because } = verdict;
  return {
    ...verdict,
    sent: spanDocument(sent),
    left: left && momentDocument(left),
    dead: dead && momentDocument(dead),
    because: because === "" ? undefined : because,
  };
}

function momentDocument({ what, at, shownMs }: Moment): object {
  return { what, ...spanDocument(at), shown: iso(shownMs) };
}

function spanDocument({ fromMs, toMs }: Span): object {
  return { from: iso(fromMs), to: iso(toMs) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
