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

/** Polled proxies are no more exact. */
const uncertainMostMs = 5_000;

/**
 * Undefined when the start of the change is unknown, or the lag is not exact enough. Otherwise it
 * is the maximum.
 */
export function measuredLagMs(state: HopState): number | undefined {
  if (state.type !== "shown") return undefined;
  const { range, lagMs } = state;
  if (range === undefined) return lagMs;
  const isOriginKnown = range.maxMs !== undefined && lagMs >= range.maxMs;
  return isOriginKnown && lagMs - range.minMs <= uncertainMostMs ? lagMs : undefined;
}
