// What a shadow has found out, for the person who ran it: one verdict, then the counts behind it,
// then the worst cases.
import { visible } from "../../decide/routing/shown-text.ts";
import { wrapText } from "../../doctor/report/wrapped-text.ts";
import type { Terminal } from "../../environment/terminal.ts";
import type { Readiness } from "../../ingress/readiness.ts";
import {
  kindOf,
  type ShadowCount,
  type ShadowProbes,
  type ShadowSummary,
  worthMentionMs,
} from "../../ingress/shadow-report.ts";
import { durationText } from "../../journeys/duration-text.ts";
import { counted } from "../counted.ts";
import { paintFor } from "../paint.ts";
import { hostAndPort } from "./host-and-port.ts";

/** Where the counts stand; with less room than this beside them they stand below their labels. */
const countColumn = 42;
const narrowestBeside = 20;
const indentBelow = 6;

/** `10 min 45 s` and what stands around it. */
const durationColumns = 18;

export function shadowLines(
  terminal: Pick<Terminal, "colours" | "columns">,
  summary: ShadowSummary,
): readonly string[] {
  const { left, joined, probes, longest, forMs } = summary;
  const paint = paintFor(terminal);
  const width = terminal.columns;
  const lines = [
    ...wrapText(`Shadow of ${durationText(forMs)}: ${verdict(summary)}`, { width }).map(
      paint.strong,
    ),
    ...labelled("left, and still listed by the slices", countText(left), width),
    ...labelled("joined, and not listed by the slices", countText(joined), width),
    ...(probes === undefined ? [] : probeLines(probes, width)),
    ...(longest.length === 0 ? [] : [`  The slices were longest behind about:`]),
    ...longest.flatMap((override) => {
      const { service, endpoint, lastedMs = 0 } = override;
      const what = kindOf(override) === "left" ? "still listed" : "not listed";
      const where = `${endpoint.podName ?? hostAndPort(endpoint.address, endpoint.port)} of ${service}`;
      const below = " ".repeat(width < 2 * durationColumns ? indentBelow : durationColumns);
      const [first = "", ...rest] = wrapText(`${what}: ${where}, ${endpoint.reason}`, {
        width,
        first: " ".repeat(durationColumns),
        rest: below,
      });
      const lasted = durationText(lastedMs).padStart(12);
      return [`    ${paint.late(lasted)}  ${first.slice(durationColumns)}`, ...rest];
    }),
  ];
  return lines.map((line) => `${line}\n`);
}

/** A line, or as many as the terminal needs, the text beside its label or below it. */
function labelled(label: string, text: string, width: number): readonly string[] {
  const first = `  ${label}`.padEnd(countColumn);
  if (countColumn + Math.min(text.length, narrowestBeside) <= width) {
    return wrapText(text, { width, first, rest: " ".repeat(countColumn) });
  }
  const below = " ".repeat(indentBelow);
  return [first.trimEnd(), ...wrapText(text, { width, first: below, rest: below })];
}

/** Those that left come first: requests to them fail, where those to come only wait. */
function verdict({ left, joined }: ShadowSummary): string {
  if (left.late > 0) {
    const longest = durationText(left.longestMs);
    return `${counted(left.late, "endpoint")} stayed listed after leaving, for up to ${longest}`;
  }
  if (joined.late > 0) {
    const longest = durationText(joined.longestMs);
    return `${counted(joined.late, "endpoint")} could have served sooner, by up to ${longest}`;
  }
  return "truth and the slices were never apart for long";
}

/** A shadow that had nothing to look at knows nothing, which is not the same as no lag. */
export function nothingSeenLines(
  { columns: width }: Pick<Terminal, "columns">,
  { problem = "", notes }: Readiness,
): readonly string[] {
  const lines = [
    ...wrapText(`Nothing was seen, so nothing can be said: ${problem}.`, { width }),
    ...notes.flatMap((note) => wrapText(visible(note), { width, first: "  · ", rest: "    " })),
  ];
  return lines.map((line) => `${line}\n`);
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

function probeLines(probes: ShadowProbes, width: number): readonly string[] {
  const { leftSilent, leftAnswered, joinedAnswered, joinedSilent, notAsked } = probes;
  const left = `${leftSilent} silent, ${leftAnswered} still answering`;
  const joined = `${joinedAnswered} answering, ${joinedSilent} silent`;
  return [
    ...labelled("asked, of those that left", left, width),
    ...labelled("asked, of those that joined", joined, width),
    ...(notAsked === 0 ? [] : labelled("not asked, too many at once", `${notAsked}`, width)),
  ];
}
