// The pods of a ReplicaSet as pure functions: the body of a new one, which ones go first when there
// are too many, and their part of the status.
import type { WallMs } from "../../../environment/clock.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { isActive, isReady, type OwnedPod } from "../owned-pod.ts";
import { numberIn, ownedBy, type WholeObject, wholeReplicaSets } from "../whole-object.ts";

export function newPod(set: WholeObject): RawRecord {
  const template = recordAt(recordAt(set.raw, "spec"), "template");
  const { labels, annotations, finalizers } = recordAt(template, "metadata");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `${set.metadata.name}-`,
      namespace: set.metadata.namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [ownedBy(wholeReplicaSets, set.metadata)],
    },
    spec: recordAt(template, "spec"),
  };
}

const phases = ["Pending", "Unknown", "Running"];

/**
 * The order in which pods are given up, as in controller_utils.go ActivePodsWithRanks: those
 * without a node, not running, not ready; then where many share a node; then the youngest.
 */
export function inDeletionOrder(pods: readonly OwnedPod[]): readonly OwnedPod[] {
  const onNode = new Map<string, number>();
  for (const { nodeName } of pods) onNode.set(nodeName, (onNode.get(nodeName) ?? 0) + 1);
  const ranks: readonly ((pod: OwnedPod) => number)[] = [
    ({ nodeName }) => (nodeName === "" ? 0 : 1),
    ({ phase }) => phases.indexOf(phase),
    (pod) => (isReady(pod) ? 1 : 0),
    ({ nodeName }) => -(onNode.get(nodeName) ?? 0),
    (pod) => (isReady(pod) ? 0 - (pod.readyTransitionTime ?? 0) : 0),
    ({ metadata }) => 0 - (metadata.creationTimestamp ?? 0),
  ];
  return [...pods].sort((one, other) => {
    for (const rank of ranks) {
      const difference = rank(one) - rank(other);
      if (difference !== 0) return difference;
    }
    return one.metadata.name < other.metadata.name ? -1 : 1;
  });
}

export interface ReplicaSetStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
  readonly observedGeneration: number;
}

export function replicaSetStatus(
  set: WholeObject,
  pods: readonly OwnedPod[],
  now: WallMs,
): ReplicaSetStatus {
  const active = pods.filter(isActive);
  const template = recordAt(recordAt(set.raw, "spec"), "template");
  const labels = Object.entries(recordAt(recordAt(template, "metadata"), "labels"));
  const minReadyMs = numberIn(set, "spec", "minReadySeconds") * 1000;
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(({ metadata }) =>
      labels.every(([name, value]) => metadata.labels[name] === value),
    ).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadyMs, now)).length,
    observedGeneration: set.generation,
  };
}

/** Whether a PUT of this status would change anything. */
export function hasStatus(set: WholeObject, status: ReplicaSetStatus): boolean {
  return Object.entries({ ...status }).every(
    ([field, value]) => numberIn(set, "status", field) === value,
  );
}

export function conditionsOf(object: WholeObject): readonly RawRecord[] {
  return listAt(recordAt(object.raw, "status"), "conditions").filter(isRecord);
}

/** Ready for long enough. */
function isAvailable(pod: OwnedPod, minReadyMs: number, now: WallMs): boolean {
  if (!isReady(pod)) return false;
  return minReadyMs === 0 || (pod.readyTransitionTime ?? now) + minReadyMs <= now;
}
