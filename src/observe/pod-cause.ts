// Why a pod joined or left, in one or two words, and the time by the cluster's own clock. Kubelets
// stamp conditions and the end of containers; the API server stamps deletions.
import type { WallMs } from "../environment/clock.ts";
import type { Node } from "../kube/kinds/node.ts";
import { hasEnded, type Pod } from "../kube/kinds/pod.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { ClusterStamp, Direction } from "../timeline/witness.ts";

/** The nodes, where they may be watched; a reflector is one. */
export interface NodeView {
  /** Whether they have been listed: before that an absent node says nothing. */
  readonly synced: boolean;
  readonly store: ReadonlyStore<Node>;
}

export interface PodCause {
  readonly cause: string;
  readonly clusterStamp?: ClusterStamp;
}

/** The API server's own clock. */
const apiServer = "";

export function podCause(change: Change<Pod>, direction: Direction, nodes?: NodeView): PodCause {
  const pod = change.object;
  if (direction === "join") return joinCause(change);
  if (change.type === "deleted") {
    return { cause: isNodeGone(pod, nodes) ? "node gone" : "deleted", ...deletionStamp(pod) };
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { cause: "terminating", ...deletionStamp(pod) };
  }
  if (hasEnded(pod)) return { cause: "ended", ...stamp(pod.finishedAt, pod) };
  if (pod.ready !== "True") return { cause: unreadyCause(pod, nodes), ...readyStamp(pod) };
  return { cause: movedCause(change) };
}

function joinCause(change: Change<Pod>): PodCause {
  const pod = change.object;
  // Some services publish pods that are not ready: those join when they get an address.
  if (pod.ready !== "True") return { cause: "started" };
  const before = change.type === "updated" ? change.previous : undefined;
  if (before?.ready === "True" && before.podIP !== "") return { cause: movedCause(change) };
  return { cause: "ready", ...readyStamp(pod) };
}

/** Ready before and after, and yet not the same endpoint. */
function movedCause(change: Change<Pod>): string {
  if (change.type !== "updated") return "ready";
  return change.previous.podIP === change.object.podIP ? "relabelled" : "address changed";
}

function unreadyCause(pod: Pod, nodes: NodeView | undefined): string {
  if (isNodeGone(pod, nodes)) return "node gone";
  const node = nodes?.store.get("", pod.nodeName);
  return node?.ready !== undefined && node.ready.status !== "True" ? "node not ready" : "unready";
}

function isNodeGone({ nodeName }: Pod, nodes: NodeView | undefined): boolean {
  if (nodeName === "" || nodes?.synced !== true) return false;
  return nodes.store.get("", nodeName) === undefined;
}

function readyStamp(pod: Pod): Pick<PodCause, "clusterStamp"> {
  return stamp(pod.readyTransitionTime, pod);
}

function stamp(at: WallMs | undefined, { nodeName }: Pod): Pick<PodCause, "clusterStamp"> {
  return at === undefined ? {} : { clusterStamp: { at, by: nodeName } };
}

/** The timestamp is when the pod is gone at the latest: a grace period after it was asked for. */
function deletionStamp({ metadata }: Pod): Pick<PodCause, "clusterStamp"> {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined) return {};
  const at = (deletionTimestamp - deletionGracePeriodSeconds * 1_000) as WallMs;
  return { clusterStamp: { at, by: apiServer } };
}
