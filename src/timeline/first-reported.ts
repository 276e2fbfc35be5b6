// A change that no pod watch reported: a permission is missing, its list was still running, or the
// address has no pod. The hop that reported it first replaces the origin. The lag of that hop is
// unknown, and not zero. Pure.
import type { HopState, HopTime, Journey } from "./journey.ts";
import type { Hop } from "./witness.ts";

/** Whether the hop shows the change at its origin only because no pod watch reported it. */
export function isFirstReported(
  { hops }: Pick<Journey, "hops">,
  { hop, state }: Pick<HopTime, "hop" | "state">,
): boolean {
  if (hop === "pod" || state.type !== "shown" || state.lagMs > 0) return false;
  return hops.every((one) => one.hop !== "pod" || one.state.type === "unchanged");
}

/** Whether the hop reported the change before the pod's event came: its lag is negative, and not 0. */
export function isBeforePod({ hops }: Pick<Journey, "hops">, hop: Hop, state: HopState): boolean {
  if (hop === "pod" || state.type !== "shown" || state.lagMs > 0) return false;
  if (state.range !== undefined) return false;
  return hops.some((one) => one.hop === "pod" && one.state.type === "shown" && one.state.lagMs > 0);
}
