// The status of one observed cluster: whether it is reachable, and how fresh each watch is. A hop
// measured behind a stale watch is not reliable, so the status says this in text.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { defaultAliveWithinMs } from "../kube/reflector/freshness.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import type { Hop } from "../timeline/witness.ts";
import { type LostHop, lostHop } from "./lost-hops.ts";

/** The resources that an observer watches in a cluster; nodes only explain causes. */
export type ObservedResource = "services" | "pods" | "endpointslices" | "endpoints" | "nodes";

/** The purpose of a watch: a hop, or only the causes of changes. */
export type WatchPurpose = Exclude<Hop, "routed" | "traffic"> | "cause";

/** One watch of one collection. */
export interface ObservedWatchStatus extends WatchStatus {
  readonly resource: ObservedResource;
  /** All namespaces when undefined. */
  readonly namespace: string | undefined;
  /** The hops that it shows; a watch of slices may serve both `published` and `synced`. */
  readonly purposes: readonly WatchPurpose[];
  /** Whether everything has been listed once: from then on changes are seen. */
  readonly listed: boolean;
  readonly objects: number;
  /** When data of the server last arrived on it. */
  readonly aliveAtMs: MonotonicMs | undefined;
  /** Why it fails, for another reason than the rules of the server; it is tried again. */
  readonly failure: string | undefined;
}

export type ClusterState =
  /** Nothing has been answered yet, and nothing has failed. */
  | { readonly type: "connecting" }
  /** So many of its watches have been listed. */
  | { readonly type: "listing"; readonly listed: number; readonly of: number }
  | { readonly type: "watching" }
  /** No watch receives data; `since` is the start of the observation if none ever did. */
  | { readonly type: "unreachable"; readonly since: MonotonicMs; readonly detail: string }
  /** It answers, and lets nothing be read. */
  | { readonly type: "refused"; readonly detail: string };

export interface ClusterStatus {
  readonly cluster: string;
  readonly state: ClusterState;
  readonly watches: readonly ObservedWatchStatus[];
  /** The effects of refused watches, each in one sentence. */
  readonly lost: readonly LostHop[];
  /** Why what is measured now is not to be trusted, each in one sentence; empty when it is. */
  readonly doubts: readonly string[];
}

/** How it stands with a cluster as a whole. */
export interface ClusterStanding {
  readonly state: ClusterState;
  /** Whether its server serves EndpointSlices at all. */
  readonly hasSlices: boolean;
}

/** The state of a cluster before its published form is known. */
export interface Beginning {
  readonly startedAt: MonotonicMs;
  /** Why the last try failed. */
  readonly problem: { readonly refused: boolean; readonly detail: string } | undefined;
}

/** A watch that is cut off is open again before that, unless the server is gone. */
const reopenedWithinMs = 3_000;

export function clusterStatus(
  cluster: string,
  { state, hasSlices }: ClusterStanding,
  watches: readonly ObservedWatchStatus[],
): ClusterStatus {
  return {
    cluster,
    state,
    watches,
    lost: watches
      .filter(({ state }) => state === "refused")
      .flatMap(lostHop(cluster, { hasSlices })),
    doubts: watches.flatMap((watch) => doubtOf(cluster, watch)),
  };
}

export function clusterState(
  { startedAt, problem }: Beginning,
  watches: readonly ObservedWatchStatus[],
  now: MonotonicMs,
): ClusterState {
  if (watches.length === 0) {
    if (problem === undefined) return { type: "connecting" };
    const { detail } = problem;
    if (problem.refused) return { type: "refused", detail };
    return { type: "unreachable", since: startedAt, detail };
  }
  const allowed = watches.filter(({ state }) => state !== "refused");
  if (allowed.length === 0) return { type: "refused", detail: watches[0]?.detail ?? "" };
  const aliveAt = allowed.flatMap(({ aliveAtMs }) => aliveAtMs ?? []);
  const since = aliveAt.length === 0 ? undefined : (Math.max(...aliveAt) as MonotonicMs);
  const failures = allowed.flatMap(({ failure }) => failure ?? []);
  const patienceMs = failures.length === allowed.length ? reopenedWithinMs : defaultAliveWithinMs;
  if (since === undefined || elapsedMs(since, now) > patienceMs) {
    if (failures.length === 0 && since === undefined) return { type: "connecting" };
    const detail = failures[0] ?? allowed[0]?.detail ?? "";
    return { type: "unreachable", since: since ?? startedAt, detail };
  }
  const listed = allowed.filter((watch) => watch.listed).length;
  return listed < allowed.length
    ? { type: "listing", listed, of: allowed.length }
    : { type: "watching" };
}

function doubtOf(cluster: string, watch: ObservedWatchStatus): readonly string[] {
  if (watch.state !== "stale" || !watch.listed) return [];
  const { resource, namespace, purposes, detail } = watch;
  const place = namespace === undefined ? cluster : `${cluster}, namespace ${namespace}`;
  const doubted = purposes.includes("cause") ? "causes" : `${purposes.join(" and ")} times`;
  return [`the watch of ${resource} in ${place} is stale, so ${doubted} may be late: ${detail}`];
}
