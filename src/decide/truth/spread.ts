// Distribution of requests for a service that several clusters have: the first choice, the
// replacements, and each cluster's share. It changes the preference, never the set of usable
// endpoints.
import type { ServiceSnapshot } from "../../model/service-snapshot.ts";
import { isRouted } from "../decision.ts";
import type { TruthEndpoint } from "./judged.ts";
import type { ServiceSettings } from "./service-settings.ts";

/** Of clusters that stand in for the local one, and of those that never want to be first. */
const otherPriority = 1;
const standInPriority = 2;

/** The share of a cluster that asks for none, beside one that does. */
export const defaultWeight = 100;

/** The priority that a cluster's endpoints have by its place; 0 for the first choice. */
export function clusterPriority(
  { accessCluster, clusters, unlisted = [] }: ServiceSnapshot,
  { spread, weights }: ServiceSettings,
  cluster: string,
): number {
  if (clusters.length + unlisted.length < 2) return 0;
  if (weights?.get(cluster) === 0) return standInPriority;
  const isOther = accessCluster !== undefined && cluster !== accessCluster;
  return spread === "local-first" && isOther ? otherPriority : 0;
}

/** Gives each cluster its share among those of the same priority, whatever number of pods it has. */
export function shared(
  endpoints: readonly TruthEndpoint[],
  { weights }: ServiceSettings,
): readonly TruthEndpoint[] {
  if (weights === undefined) return endpoints;
  const counts = new Map<number, Map<string, number>>();
  for (const endpoint of endpoints.filter(isRouted)) {
    const { priority = 0, cluster } = endpoint;
    const clusters = counts.get(priority) ?? new Map<string, number>();
    counts.set(priority, clusters.set(cluster, (clusters.get(cluster) ?? 0) + 1));
  }
  return endpoints.map((endpoint) => {
    const { priority = 0, cluster } = endpoint;
    const clusters = counts.get(priority);
    if (!isRouted(endpoint) || clusters === undefined || clusters.size < 2) return endpoint;
    // Those that only stand in for others share alike among themselves.
    const share = weights.get(cluster) || defaultWeight;
    return { ...endpoint, weight: share / (clusters.get(cluster) ?? 1) };
  });
}

/** Adds to the reason of endpoints that get requests only because those of first choice do not. */
export function markStandIns(endpoints: readonly TruthEndpoint[]): readonly TruthEndpoint[] {
  if (!endpoints.some(({ priority }) => priority !== undefined)) return endpoints;
  const first = lowestPriority(endpoints);
  const serving = lowestPriority(endpoints.filter(isRouted));
  if (first === undefined || serving === undefined || serving === first) return endpoints;
  const preferred = endpoints.filter(({ priority = 0 }) => priority === first);
  const clusters = [...new Set(preferred.map(({ cluster }) => cluster))].join(", ");
  const why = `it is used because no endpoint in ${clusters} is available`;
  return endpoints.map((endpoint) =>
    isRouted(endpoint) && (endpoint.priority ?? 0) === serving
      ? { ...endpoint, reason: `${endpoint.reason}; ${why}` }
      : endpoint,
  );
}

function lowestPriority(endpoints: readonly TruthEndpoint[]): number | undefined {
  let lowest: number | undefined;
  for (const { priority = 0 } of endpoints) {
    if (lowest === undefined || priority < lowest) lowest = priority;
  }
  return lowest;
}
