// Labels and lists as one cell shows them.
import { formatLabelSelector } from "../select/label-selector.ts";
import { none } from "./columns.ts";

/** How many entries of a list a cell names before it counts the rest. */
export const namedMax = 3;

/** `app=web,tier=gold`, by key. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`);
  return pairs.join(",") || none;
}

/** `{matchLabels, matchExpressions}`. */
export function selectorText(selector: unknown): string {
  return formatLabelSelector(selector) || none;
}

/** `a,b,c + 2 more...` */
export function listText(entries: readonly string[]): string {
  const named = entries.slice(0, namedMax).join(",");
  const more = entries.length - namedMax;
  return more > 0 ? `${named} + ${more} more...` : named;
}
