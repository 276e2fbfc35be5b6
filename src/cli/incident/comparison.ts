// A measured value beside what was seen elsewhere: as seen there, outside and by how much, or only
// shown because nobody said between which bounds it should lie. Pure.
import type { Expectation, Figure } from "../../lab/incidents/incident.ts";
import { numberText, percentText } from "./value-text.ts";

export interface Comparison {
  readonly verdict: "inside" | "outside" | "shown";
  /** `+0.3 %`, `as seen`, `outside, +12 %`; empty where it is only shown. */
  readonly text: string;
}

/** As fine as anybody reads. */
const finestShare = 0.001;

export function compare(
  measured: number | undefined,
  { value, from, to }: Pick<Expectation, "value" | "from" | "to">,
): Comparison {
  if (from === undefined && to === undefined) return { verdict: "shown", text: "" };
  if (measured === undefined) return { verdict: "outside", text: "not measured" };
  const { low, high } = { low: from ?? -Infinity, high: to ?? Infinity };
  if (measured < low) return { verdict: "outside", text: `outside, ${distance(measured, low)}` };
  if (measured > high) return { verdict: "outside", text: `outside, ${distance(measured, high)}` };
  return { verdict: "inside", text: insideText(measured, low, high, value) };
}

/** In its own words, and whether a person or a program of that version saw it. */
export function seenText({ source, text }: Expectation): string {
  return source === "write-up" ? text : `${text} (real)`;
}

/** Whether every bound that was given holds. */
export function isInside({ measured, expected }: Figure): boolean {
  return expected.every((one) => compare(measured, one).verdict !== "outside");
}

/** A distance is told only from a number that somebody saw, never from the middle of a range. */
function insideText(
  measured: number,
  low: number,
  high: number,
  value: number | undefined,
): string {
  if (low === high || measured === value) return "the same";
  return value === undefined ? "as seen" : distance(measured, value);
}

/** In percent, and by itself where that means nothing. */
function distance(measured: number, reference: number): string {
  const difference = measured - reference;
  const sign = difference < 0 ? "−" : "+";
  if (reference === 0) return `${sign}${numberText(Math.abs(difference))}`;
  const share = Math.abs(difference / reference);
  if (share < finestShare) return `within ${percentText(finestShare)}`;
  const digits = share < 0.1 ? 1000 : 100;
  return `${sign}${percentText(Math.round(share * digits) / digits)}`;
}
