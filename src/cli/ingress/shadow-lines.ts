// What a shadow has found out, for the person who ran it: one verdict, then the counts behind it,
// then the worst cases.
import { wrapText } from "../../doctor/report/wrapped-text.ts";
import type { Terminal } from "../../environment/terminal.ts";
import {
  kindOf,
  type ShadowCount,
  type ShadowProbes,
  type ShadowSummary,
  worthMentionMs,
} from "../../ingress/shadow-report.ts";
import { durationText } from "../../journeys/duration-text.ts";
import { paintFor } from "../paint.ts";
import { hostAndPort } from "./host-and-port.ts";

export function shadowLines(
  terminal: Pick<Terminal, "colours" | "columns">,
  summary: ShadowSummary,
): readonly string[] {
  const { left, joined, probes, longest, forMs } = summary;
  const paint = paintFor(terminal);
  const lines = [
    paint.strong(`Shadow of ${durationText(forMs)}: ${verdict(left)}`),
    ...counted("  left, and still listed by the slices    ", countText(left), terminal),
    ...counted("  joined, and not listed by the slices    ", countText(joined), terminal),
    ...(probes === undefined ? [] : probeLines(probes)),
    ...(longest.length === 0 ? [] : [`  The slices were longest behind about:`]),
    ...longest.map((override) => {
      const { service, endpoint, lastedMs = 0 } = override;
      const what = kindOf(override) === "left" ? "still listed" : "not listed";
      const where = `${endpoint.podName ?? hostAndPort(endpoint.address, endpoint.port)} of ${service}`;
      return `    ${paint.late(durationText(lastedMs).padStart(12))}  ${what}: ${where}, ${endpoint.reason}`;
    }),
  ];
  return lines.map((line) => `${line}\n`);
}

/** A line, or as many as the terminal needs, the text below itself. */
function counted(
  label: string,
  text: string,
  { columns: width }: Pick<Terminal, "columns">,
): readonly string[] {
  return wrapText(text, { width, first: label, rest: " ".repeat(label.length) });
}

function verdict({ late, standing, longestMs }: ShadowCount): string {
  if (late + standing === 0) return "truth and the slices were never apart for long";
  const ones = late === 1 ? "endpoint" : "endpoints";
  return late === 0
    ? `${standing} that have left are still listed`
    : `${late} ${ones} stayed listed after leaving, for up to ${durationText(longestMs)}`;
}

function countText({ over, standing, late, longestMs, totalMs }: ShadowCount): string {
  if (over + standing === 0) return "none";
  const parts = [
    `${over + standing}`,
    `${late} for more than ${durationText(worthMentionMs)}`,
    `longest ${durationText(longestMs)}`,
    `together ${durationText(totalMs)}`,
    ...(standing === 0 ? [] : [`${standing} still`]),
  ];
  return parts.join(", ");
}

function probeLines(probes: ShadowProbes): readonly string[] {
  const { leftSilent, leftAnswered, joinedAnswered, joinedSilent, notAsked } = probes;
  return [
    `  asked, of those that left               ${leftSilent} silent, ${leftAnswered} still answering`,
    `  asked, of those that joined             ${joinedAnswered} answering, ${joinedSilent} silent`,
    ...(notAsked === 0 ? [] : [`  not asked, too many at once             ${notAsked}`]),
  ];
}
