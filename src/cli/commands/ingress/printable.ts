// What an ingress answers, fit for a terminal. Paths and the names of pods are whatever an author
// wrote: a path may hold the characters by which a program colours, moves or clears what is shown.
import { visible } from "../../../decide/routing/shown-text.ts";

/** The same, with every text spelled out that is more than text to a terminal. */
export function printable<Answer extends object>(answer: Answer): Answer {
  const spelledOut = (_: string, value: unknown) =>
    typeof value === "string" ? visible(value) : value;
  // It came as JSON, so nothing of it is lost.
  return JSON.parse(JSON.stringify(answer), spelledOut) as Answer;
}
