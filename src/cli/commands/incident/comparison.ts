// A measured value beside what was seen elsewhere: between the bounds, outside and by how much, or only
// shown because there are no bounds or an input decides it. Pure.
import {
  type Bounded,
  type Expectation,
  type Figure,
  isBounded,
  type Unit,
} from "../../../lab/incidents/figure.ts";
import { numberText, percentText, valueText } from "../../terminal/value-text.ts";

export interface Comparison {
  readonly verdict: "inside" | "outside" | "shown";
  /** `+0.3 %`, `as seen`, `outside, +12 %`; empty where it is only shown. */
  readonly text: string;
}

/** As fine as anybody reads. */
const finestShare = 0.001;

export function compare(
  { measured, fittedBy }: Pick<Figure, "measured" | "fittedBy">,
  expectation: Expectation,
): Comparison {
  if (fittedBy !== undefined || !isBounded(expectation)) return { verdict: "shown", text: "" };
  if (measured === undefined) return { verdict: "outside", text: "not measured" };
  const { from, to, value } = expectation;
  if (measured < from) return { verdict: "outside", text: `outside, ${distance(measured, from)}` };
  if (measured > to) return { verdict: "outside", text: `outside, ${distance(measured, to)}` };
  return { verdict: "inside", text: insideText(measured, from, to, value) };
}

/** In its own words, and whether a person or a program of that version saw it. */
export function seenText({ source, text }: Expectation): string {
  return source === "write-up" ? text : `${text} (real)`;
}

/** `10 min to 12 min`, `exactly 12,954`. */
export function boundsText({ from, to }: Pick<Bounded, "from" | "to">, unit: Unit): string {
  if (from === to) return `exactly ${valueText(from, unit)}`;
  return `${valueText(from, unit)} to ${valueText(to, unit)}`;
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
