// What a shadow has found out, for the person who ran it: one verdict, then the counts behind it,
// then the worst cases.
import { visible } from "../../../decide/routing/shown-text.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { Readiness } from "../../../ingress/readiness.ts";
import {
  kindOf,
  type ShadowCount,
  type ShadowProbes,
  type ShadowSummary,
  worthMentionMs,
} from "../../../ingress/shadow-report.ts";
import { counted } from "../../terminal/counted.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { hostAndPort } from "./host-and-port.ts";

/** Where the counts stand; with less room than this beside them they stand below their labels. */
const countColumn = 34;
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
    ...countLines("removed pods still in slices", "still listed now", left, width),
    ...countLines("ready pods not yet in slices", "still missing now", joined, width),
    ...(probes === undefined ? [] : probeLines(probes, width)),
    ...(longest.length === 0 ? [] : ["  longest cases:"]),
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
    return `${counted(left.late, "removed pod")} stayed in the slices for up to ${longest}`;
  }
  if (joined.late > 0) {
    const longest = durationText(joined.longestMs);
    return `${counted(joined.late, "ready pod")} could have served up to ${longest} sooner`;
  }
  return `the slices were never behind the pods for more than ${durationText(worthMentionMs)}`;
}

/** A shadow that had nothing to look at knows nothing, which is not the same as no lag. */
export function nothingSeenLines(
  { columns: width }: Pick<Terminal, "columns">,
  { problem = "", notes }: Readiness,
): readonly string[] {
  const lines = [
    ...wrapText(`No result: ${problem}.`, { width }),
    ...notes.flatMap((note) => wrapText(visible(note), { width, first: "  · ", rest: "    " })),
  ];
  return lines.map((line) => `${line}\n`);
}

function countLines(
  label: string,
  standingLabel: string,
  { pods, standing, late, longestMs, totalMs }: ShadowCount,
  width: number,
): readonly string[] {
  if (pods === 0) return labelled(label, "0", width);
  const rows: readonly (readonly [label: string, text: string])[] = [
    [label, `${pods}`],
    [`  longer than ${durationText(worthMentionMs)}`, `${late}`],
    ["  longest", durationText(longestMs)],
    ["  total", durationText(totalMs)],
    [`  ${standingLabel}`, `${standing}`],
  ];
  return rows.flatMap(([name, text]) => labelled(name, text, width));
}

function probeLines(probes: ShadowProbes, width: number): readonly string[] {
  const { leftSilent, leftAnswered, joinedAnswered, joinedSilent, notAsked } = probes;
  const left = `${leftSilent} did not answer, ${leftAnswered} answered`;
  const joined = `${joinedAnswered} answered, ${joinedSilent} did not answer`;
  return [
    ...labelled("probed removed endpoints", left, width),
    ...labelled("probed ready endpoints", joined, width),
    ...(notAsked === 0 ? [] : labelled("not probed, too many at once", `${notAsked}`, width)),
  ];
}
