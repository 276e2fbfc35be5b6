// How a displayed lag relates to the true one, as a sign before it. A change from a list happened
// before the list, by an amount known only within bounds. Pure.
import type { HopState } from "./journey.ts";

export type ShownState = Extract<HopState, { readonly type: "shown" }>;

/** None when the lag is exact. */
export type LagBound = "" | "≥" | "≤" | "~";

export function lagBound({ lagMs, range }: ShownState): LagBound {
  if (range === undefined) return "";
  if (range.maxMs === undefined || lagMs <= range.minMs) return "≥";
  return lagMs >= range.maxMs ? "≤" : "~";
}
