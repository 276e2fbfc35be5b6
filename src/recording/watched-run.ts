// What the header of a recording says of the run of `lockstep watch` that it was written by: which
// clusters it observed and what it was asked to look at, so that a replay is set up alike.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";

export interface WatchedRun {
  /** One instant by the two clocks of the run. */
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly clusters: readonly WatchedCluster[];
  /** All when undefined. */
  readonly namespaces: readonly string[] | undefined;
  /** `namespace/name` each; all when undefined. */
  readonly services: readonly string[] | undefined;
  readonly asked: { readonly copies: boolean; readonly proxies: boolean; readonly logs: boolean };
}

export interface WatchedCluster {
  readonly cluster: string;
  readonly aliases: readonly string[];
  readonly isBusiness: boolean;
  readonly isAccess: boolean;
}

/** Undefined for what is none. */
export function watchedRunOf(value: unknown): WatchedRun | undefined {
  if (!isRecord(value)) return undefined;
  const { monotonicMs, wallMs, clusters, asked } = {
    monotonicMs: value["monotonicMs"],
    wallMs: value["wallMs"],
    clusters: value["clusters"],
    asked: isRecord(value["asked"]) ? value["asked"] : {},
  };
  if (typeof monotonicMs !== "number" || typeof wallMs !== "number") return undefined;
  if (!Array.isArray(clusters)) return undefined;
  return {
    monotonicMs,
    wallMs,
    clusters: clusters.filter(isRecord).map(clusterOf),
    namespaces: textsOf(value["namespaces"]),
    services: textsOf(value["services"]),
    asked: {
      copies: asked["copies"] === true,
      proxies: asked["proxies"] === true,
      logs: asked["logs"] === true,
    },
  };
}

function clusterOf(record: RawRecord): WatchedCluster {
  return {
    cluster: String(record["cluster"]),
    aliases: textsOf(record["aliases"]) ?? [],
    isBusiness: record["isBusiness"] === true,
    isAccess: record["isAccess"] === true,
  };
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(String) : undefined;
}
