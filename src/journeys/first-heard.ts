// A change of a pod that no watch of pods told of, for want of a permission or because its list was
// still under way: the hop that told of it first stands in for the origin. How late that hop was is
// unknown, and not nothing. Pure.
import type { HopTime, Journey } from "./journey.ts";

/** Whether the hop shows the change at its origin only because the pod itself is not heard. */
export function isFirstHeard(
  { endpoint, hops }: Pick<Journey, "endpoint" | "hops">,
  { hop, state }: Pick<HopTime, "hop" | "state">,
): boolean {
  if (hop === "pod" || state.type !== "shown" || state.lagMs > 0) return false;
  const isPod = endpoint.podUid !== undefined;
  return isPod && hops.every((one) => one.hop !== "pod" || one.state.type === "unchanged");
}
