// A change that no watch of pods told of, for want of a permission, because its list was still under
// way, or because there is no pod behind the address: the hop that told of it first stands in for the
// origin. How late that hop was is unknown, and not nothing. Pure.
import type { HopState, HopTime, Journey } from "./journey.ts";
import type { Hop } from "./witness.ts";

/** Whether the hop shows the change at its origin only because no pod is heard. */
export function isFirstHeard(
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
