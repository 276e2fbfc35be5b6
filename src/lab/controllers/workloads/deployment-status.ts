// The status of a Deployment, as a pure function of the Deployment and its ReplicaSets. `kubectl
// rollout status` waits for it.
import { toTime, type WallMs } from "../../../environment/clock.ts";
import {
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";
import { sameJson } from "../../../kube/kinds/same-json.ts";
import { numberIn, type WholeObject } from "../whole-object.ts";
import { conditionsOf } from "./replica-pods.ts";
import type { RolloutLimits } from "./rollout.ts";

export interface StatusInput {
  readonly deployment: WholeObject;
  /** Undefined before it was made. */
  readonly newSet: WholeObject | undefined;
  readonly sets: readonly WholeObject[];
  readonly limits: RolloutLimits;
  /** Whether this sync created the new set, for the reason of the Progressing condition. */
  readonly created: boolean;
  readonly now: WallMs;
}

interface Counts {
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
}

/** The whole status; undefined when the Deployment already has it. */
export function deploymentStatus(input: StatusInput): RawRecord | undefined {
  const { deployment, newSet, sets } = input;
  const counts = countsOf(sets, newSet);
  const wanted = sets.reduce((sum, set) => sum + numberIn(set, "spec", "replicas"), 0);
  const current = recordAt(deployment.raw, "status");
  const status = {
    ...counts,
    unavailableReplicas: Math.max(0, wanted - counts.availableReplicas),
    observedGeneration: deployment.generation,
    ...("collisionCount" in current ? { collisionCount: current["collisionCount"] } : {}),
    conditions: conditions(input, counts),
  };
  return sameStatus(current, status) ? undefined : status;
}

/** All updated, all available, none of the old left. */
export function isComplete(deployment: WholeObject, counts: Counts): boolean {
  const replicas = numberIn(deployment, "spec", "replicas");
  return (
    counts.updatedReplicas === replicas &&
    counts.replicas === replicas &&
    counts.availableReplicas === replicas
  );
}

function conditions(input: StatusInput, counts: Counts): readonly RawRecord[] {
  const available = availableCondition(input, counts);
  const progressing = progressingCondition(input, counts);
  return [
    settled(input, "Available", available),
    ...(progressing === undefined ? [] : [settled(input, "Progressing", progressing)]),
  ];
}

interface Judgement {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

function availableCondition({ limits }: StatusInput, counts: Counts): Judgement {
  return counts.availableReplicas >= limits.replicas - limits.maxUnavailable
    ? {
        status: "True",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability.",
      }
    : {
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
}

/** Undefined while there is nothing to report yet. */
function progressingCondition(input: StatusInput, counts: Counts): Judgement | undefined {
  const { deployment, newSet, created } = input;
  if (newSet === undefined) return undefined;
  const set = `ReplicaSet ${JSON.stringify(newSet.metadata.name)}`;
  if (isComplete(deployment, counts)) {
    const message = `${set} has successfully progressed.`;
    return { status: "True", reason: "NewReplicaSetAvailable", message };
  }
  if (created) {
    const message = `Created new replica set ${JSON.stringify(newSet.metadata.name)}`;
    return { status: "True", reason: "NewReplicaSetCreated", message };
  }
  const known = conditionsOf(deployment).find((one) => one["type"] === "Progressing");
  const hasMoved = known === undefined || !sameCounts(recordAt(deployment.raw, "status"), counts);
  if (!hasMoved && isOverdue(input, known)) {
    const message = `${set} has timed out progressing.`;
    return { status: "False", reason: "ProgressDeadlineExceeded", message };
  }
  return { status: "True", reason: "ReplicaSetUpdated", message: `${set} is progressing.` };
}

function isOverdue({ deployment, now }: StatusInput, progressing: RawRecord): boolean {
  if (optionalString(progressing, "reason") === "NewReplicaSetAvailable") return false;
  if (optionalString(progressing, "status") === "False") return true;
  const deadlineMs = numberIn(deployment, "spec", "progressDeadlineSeconds") * 1000;
  const since = Date.parse(optionalString(progressing, "lastUpdateTime") ?? "");
  return since + deadlineMs < now;
}

/** The condition with its times, which stay when status and reason do. */
function settled({ deployment, now, sets, newSet }: StatusInput, type: string, judged: Judgement) {
  const known = conditionsOf(deployment).find((one) => one["type"] === type);
  const isStep =
    type === "Progressing" &&
    judged.reason === "ReplicaSetUpdated" &&
    !sameCounts(recordAt(deployment.raw, "status"), countsOf(sets, newSet));
  const isSame =
    known?.["status"] === judged.status && known["reason"] === judged.reason && !isStep;
  if (known !== undefined && isSame) return { ...known, message: judged.message };
  const at = toTime(now);
  const lastTransitionTime = known?.["status"] === judged.status ? known["lastTransitionTime"] : at;
  return { type, ...judged, lastUpdateTime: at, lastTransitionTime };
}

function countsOf(sets: readonly WholeObject[], newSet: WholeObject | undefined): Counts {
  const total = (field: string) =>
    sets.reduce((sum, set) => sum + numberIn(set, "status", field), 0);
  return {
    replicas: total("replicas"),
    updatedReplicas: newSet === undefined ? 0 : numberIn(newSet, "status", "replicas"),
    readyReplicas: total("readyReplicas"),
    availableReplicas: total("availableReplicas"),
  };
}

function sameCounts(status: RawRecord, counts: Counts): boolean {
  return Object.entries({ ...counts }).every(
    ([field, value]) => (optionalNumber(status, field) ?? 0) === value,
  );
}

/** Absent numbers are zeros, as the server leaves zeros out. */
function sameStatus(current: RawRecord, next: RawRecord): boolean {
  const fields = new Set([...Object.keys(current), ...Object.keys(next)]);
  return [...fields].every((field) => {
    const [one, other] = [current[field] ?? 0, next[field] ?? 0];
    return one === other || sameJson(one, other);
  });
}
