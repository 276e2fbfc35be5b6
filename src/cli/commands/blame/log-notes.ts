// What became of the lines of an access log, each in a sentence: what was not understood, what a
// format leaves out that verdicts need, and a clock that is off.
import type { BlamedLog } from "../../../blame/blame-log.ts";
import type { ProxyClock } from "../../../blame/proxy-clock.ts";
import { lengthText } from "../../../blame/verdict-text.ts";
import { counted } from "../../terminal/counted.ts";

/** Nothing can be said then; that an empty log has no failed request can be. */
export function isNothingUnderstood(logs: readonly BlamedLog[]): boolean {
  return (
    logs.every(({ report }) => report.entries.size === 0) &&
    logs.some(({ report }) => report.notUnderstood > 0)
  );
}

/** What was left out because there was too much of it, each in a sentence. */
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
        "say with --log-format where in the lines they are.",
    );
  }
  if (inDoubt.withoutDuration > 0) {
    notes.push(
      `${file}: it does not say how long ${counted(inDoubt.withoutDuration, "request")} took. Each ` +
        "counts as sent when it was over, and no verdict on it is certain; add $request_time and " +
        "$upstream_response_time to the proxy's log_format.",
    );
  }
  if (inDoubt.withoutZone > 0) {
    notes.push(
      `${file}: the times of ${counted(inDoubt.withoutZone, "request")} lack their zone and were ` +
        "taken for UTC, so no verdict on them is certain; $time_iso8601 has the zone.",
    );
  }
  if (clock.type !== "agrees") notes.push(`${file}: ${clockNote(clock)}`);
  return notes;
}

function clockNote(clock: Exclude<ProxyClock, { readonly type: "agrees" }>): string {
  const seen = "according to its times, pods answered that were deleted or did not exist yet";
  if (clock.type === "doubted") {
    return (
      `${seen}. Its clock is off, or the evidence is of other pods: no verdict is certain; ` +
      "if you know by how much, widen --skew."
    );
  }
  const { fromMs, toMs } = clock.by;
  const isBehind = fromMs > 0;
  const by = isBehind ? { leastMs: fromMs, mostMs: toMs } : { leastMs: -toMs, mostMs: -fromMs };
  return (
    `${seen}: its clock is ${lengthText(by)} ${isBehind ? "behind" : "ahead of"} the clusters'. ` +
    "It was corrected by that, and no verdict is certain."
  );
}
