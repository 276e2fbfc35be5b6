// What became of the lines of an access log, each in a sentence: what was not understood, and what a
// format leaves out that verdicts need.
import type { BlamedLog } from "../../blame/blame-log.ts";
import { counted } from "../counted.ts";

export function logNotes(file: string, { report, requests }: BlamedLog): readonly string[] {
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
        "$upstream_addr, $upstream_status and $upstream_response_time to the proxy's log_format.",
    );
  }
  return notes;
}
