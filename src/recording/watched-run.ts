// The header of a recording: the observed clusters and the filters of its run, so that a replay has
// the same setup.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";
import type { NamedCluster } from "../observe/copy-origin.ts";
import type { ObserverRun } from "../timeline/journey-record.ts";

export interface WatchedRun {
  /** One instant by the two clocks of the run. */
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly clusters: readonly WatchedCluster[];
  /** All when undefined. */
  readonly namespaces: readonly string[] | undefined;
  /** `namespace/name` each; all when undefined. */
  readonly services: readonly string[] | undefined;
  /** Nodes were watched too; unless given when all namespaces were. */
  readonly nodes?: boolean;
  readonly asked: { readonly copies: boolean; readonly proxies: boolean; readonly logs: boolean };
}

export interface WatchedCluster {
  readonly cluster: string;
  readonly aliases: readonly string[];
  readonly isBusiness: boolean;
  readonly isAccess: boolean;
}

/** Of a run that only records: a replay looks for copies in every cluster, as `lockstep watch` does. */
export function recordedRun(
  run: ObserverRun,
  clusters: readonly NamedCluster[],
  namespaces?: readonly string[],
): WatchedRun {
  return {
    monotonicMs: run.monotonicMs,
    wallMs: run.wallMs,
    clusters: clusters.map(({ cluster, aliases = [] }) => {
      return { cluster, aliases, isBusiness: true, isAccess: true };
    }),
    namespaces,
    services: undefined,
    nodes: true,
    asked: { copies: false, proxies: false, logs: false },
  };
}

/** Undefined for what is none. */
export function watchedRunOf(value: unknown): WatchedRun | undefined {
  if (!isRecord(value)) return undefined;
  const { monotonicMs, wallMs, clusters, nodes, asked } = {
    monotonicMs: value["monotonicMs"],
    wallMs: value["wallMs"],
    clusters: value["clusters"],
    nodes: value["nodes"],
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
    ...(typeof nodes === "boolean" && { nodes }),
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
