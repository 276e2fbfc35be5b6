// Which hop the time of slow changes was spent at. Each hop is charged with what passed between the
// hop before it and the last of its witnesses; Lockstep's own replicas do not wait for what is
// published, so their way is another one and is left out. Pure.
import type { Hop } from "../../timeline/witness.ts";
import type { ShownChange } from "./true-changes.ts";

/** Stock's own ingress takes up to 4.3 s in quiet times; a shorter time is no problem. */
const slowMs = 5_000;

const way: readonly Hop[] = ["pod", "published", "synced", "routed"];

/** Undefined when no change was slow. */
export function slowestHop(changes: readonly ShownChange[]): Hop | undefined {
  const spentMs = new Map<Hop, number>();
  for (const change of changes) {
    for (const [hop, ms] of spentAt(change)) spentMs.set(hop, (spentMs.get(hop) ?? 0) + ms);
  }
  const [slowest] = [...spentMs].sort(([, a], [, b]) => b - a);
  return slowest?.[0];
}

/** Of a change that was not slow, nothing. */
function spentAt({ origin, times }: ShownChange): ReadonlyMap<Hop, number> {
  const spentMs = new Map<Hop, number>();
  let reached: number = origin;
  for (const hop of way) {
    const shown = [...times.values()]
      .filter((one) => one.hop === hop && !one.witness.startsWith("lockstep-"))
      .map(({ at }) => at);
    const last = Math.max(reached, ...shown);
    spentMs.set(hop, last - reached);
    reached = last;
  }
  return reached - origin < slowMs ? new Map() : spentMs;
}
