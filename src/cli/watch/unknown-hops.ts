// Why nobody reports a hop, and what would make it known. Shown only as long as nobody does.
import type { Hop } from "../../journeys/witness.ts";
import type { ClusterStatus } from "../../observer/cluster-status.ts";

export interface Telling {
  readonly clusters: readonly ClusterStatus[];
  /** Where copies are looked for. */
  readonly accessClusters: readonly string[];
  readonly hasProxies: boolean;
  readonly hasAccessLogs: boolean;
}

export function unknownHops(telling: Telling): ReadonlyMap<Hop, string> {
  const { clusters, accessClusters, hasProxies, hasAccessLogs } = telling;
  const lost = clusters.flatMap((one) => one.lost);
  const costOf = (hop: Hop) => lost.find((one) => one.hop === hop)?.sentence;
  const unknown = new Map<Hop, string>([
    ["synced", costOf("synced") ?? `no copies of endpoints seen in ${accessClusters.join(", ")}`],
    [
      "routed",
      hasProxies ? "no proxy has told of a change yet" : "no proxy tells: give --proxy URL",
    ],
    [
      "traffic",
      hasAccessLogs
        ? "no request to a changed endpoint yet"
        : "no log tells: give --access-log FILE",
    ],
  ]);
  for (const hop of ["pod", "published"] as const) {
    const cost = costOf(hop);
    if (cost !== undefined) unknown.set(hop, cost);
  }
  return unknown;
}
