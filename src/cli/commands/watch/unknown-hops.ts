// Why nobody reports a hop, and what would make it known. Shown only as long as nobody does.

import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { Hop } from "../../../timeline/witness.ts";

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
  const access = clusters.filter(({ cluster }) => accessClusters.includes(cluster));
  const unknown = new Map<Hop, string>([
    [
      "synced",
      costOf("synced") ??
        unheardText(access) ??
        `no copies of endpoints found in ${namesText(accessClusters)}`,
    ],
    [
      "routed",
      hasProxies ? "no proxy has reported a change yet" : "no proxy given: use --proxy URL",
    ],
    [
      "traffic",
      hasAccessLogs
        ? "no request to a changed endpoint yet"
        : "no access log given: use --access-log FILE",
    ],
  ]);
  for (const hop of ["pod", "published"] as const) {
    const why = costOf(hop) ?? unheardText(clusters);
    if (why !== undefined) unknown.set(hop, why);
  }
  return unknown;
}

/** It has never told anything, and does not now. */
export function isUnheard({ state, watches }: ClusterStatus): boolean {
  return state.type !== "watching" && watches.every(({ listed }) => !listed);
}

/** Of clusters that have never told anything no figure means that all is well. */
function unheardText(clusters: readonly ClusterStatus[]): string | undefined {
  if (clusters.length === 0 || !clusters.every(isUnheard)) return undefined;
  return `no data from ${namesText(clusters.map(({ cluster }) => cluster))}`;
}

/** More names than this would push aside what is said of them. */
const namesMost = 2;

function namesText(names: readonly string[]): string {
  return names.length <= namesMost ? names.join(", ") : `any of ${names.length} clusters`;
}
