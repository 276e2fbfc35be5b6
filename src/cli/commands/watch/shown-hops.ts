// The hops that have a column. Every change has `published` and `routed`; copies and access logs are
// not everybody's, and the pod is where a change begins, so it needs no column beside the time until
// it was late itself.
import type { Hop } from "../../../timeline/witness.ts";
import type { WatchTally } from "./watch-tally.ts";

/** Those that somebody was asked to report are there from the start. */
export function shownHops(
  tally: Pick<WatchTally, "isWitnessed" | "wasPodLate">,
  asked: readonly Hop[] = [],
): readonly Hop[] {
  const isShown = (hop: Hop) => tally.isWitnessed(hop) || asked.includes(hop);
  return [
    ...(tally.wasPodLate ? (["pod"] as const) : []),
    "published",
    ...(isShown("synced") ? (["synced"] as const) : []),
    "routed",
    ...(isShown("traffic") ? (["traffic"] as const) : []),
  ];
}
