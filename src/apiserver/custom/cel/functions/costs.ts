// What functions cost that look at every character: a tenth for each, as cel-go counts.
import type { Value } from "../values.ts";

const costPerCharacter = 0.1;

export function byText(value: Value): number {
  if (typeof value === "string") return value.length * costPerCharacter;
  return value instanceof Uint8Array ? value.length * costPerCharacter : 0;
}

/** One, and all the texts together. */
export function byTexts(...values: readonly Value[]): number {
  return values.reduce<number>((cost, value) => cost + byText(value), 1);
}

/** A pattern is tried at every character, and is the dearer the longer it is. */
export function byPattern(text: Value, pattern: Value): number {
  const patternLength = typeof pattern === "string" ? pattern.length : 0;
  return 1 + byText(text) * Math.max(1, patternLength / 4);
}
