// The status a kubelet posts for a pod: a pure function of the pod, its state and the status before,
// which decides since when each condition is as it is. Words and fields are Kubernetes 1.33's.
import { toTime, type WallMs } from "../../environment/clock.ts";
import { isRecord, listAt, optionalString, type RawRecord } from "../../kube/kinds/fields.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeletContainer, KubeletPod } from "./kubelet-pod.ts";
import {
  type ContainerExit,
  type PodHistory,
  type PodState,
  unknownExitCode,
} from "./pod-lifecycle.ts";

export interface PodStatusInput {
  readonly pod: KubeletPod;
  readonly state: Exclude<PodState, { readonly name: "gone" }>;
  /** The last posted status, or the status in the API server when the kubelet first saw the pod. */
  readonly previous: RawRecord;
  readonly hostIP: string;
  readonly now: WallMs;
  /** Whether the containers' readiness is a condition of its own. */
  readonly containersReady: boolean;
  /** Whether a pod that is being deleted shows how it ended; otherwise it seems to run until then. */
  readonly postsEnd: boolean;
}

export function podStatus(input: PodStatusInput): RawRecord {
  const { pod, state, previous, hostIP, now } = input;
  const isHidden = !input.postsEnd && state.name === "finished" && endsBy(pod) === "deletion";
  const phase = isHidden ? "Running" : phaseOf(state);
  const address = "address" in state ? state.address : undefined;
  const conditions = conditionsOf(pod, state, phase).filter(
    ({ type }) => input.containersReady || type !== "ContainersReady",
  );
  return {
    phase,
    conditions: withTransitionTimes(conditions, listAt(previous, "conditions"), toTime(now)),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(address === undefined ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    startTime: optionalString(previous, "startTime") ?? toTime(now),
    containerStatuses: pod.containers.map((container) => containerStatus(container, input)),
  };
}

/**
 * True when every field of the API server's status equals what the kubelet would post. The server adds
 * fields without content (`lastProbeTime: null`).
 */
export function holdsStatus(held: RawRecord, own: RawRecord): boolean {
  for (const [field, value] of Object.entries(own)) {
    if (field !== "conditions" && !sameJson(held[field], value)) return false;
  }
  const heldConditions = listAt(held, "conditions");
  return listAt(own, "conditions")
    .filter(isRecord)
    .every((condition) => sameJson(ofType(heldConditions, condition["type"]), condition));
}

/**
 * The patch that gives the API server's object this status. Conditions are merged by their type, so
 * that those of others stay, and a reason that no longer applies has to be taken away by name.
 */
export function statusPatch({ metadata }: KubeletPod, status: RawRecord): RawRecord {
  const conditions = listAt(status, "conditions")
    .filter(isRecord)
    .map((condition) => ({ reason: null, message: null, ...condition }));
  // Lists of addresses are merged by address; a pod that came back has no other than its new one.
  const podIPs = status["podIPs"] === undefined ? [] : [replaceList, ...listAt(status, "podIPs")];
  const addresses = podIPs.length === 0 ? {} : { podIPs };
  return { metadata: { uid: metadata.uid }, status: { ...status, ...addresses, conditions } };
}

/** In a strategic merge patch: the list is this one, not merged with the one that is there. */
const replaceList = { $patch: "replace" };

/** The reason for the end of a pod whose containers would otherwise be started again. */
function endsBy({ metadata, restartPolicy }: KubeletPod): "deletion" | "itself" {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  return isDeleted && restartPolicy === "Always" ? "deletion" : "itself";
}

type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

function phaseOf(state: PodStatusInput["state"]): Phase {
  switch (state.name) {
    case "pending":
    case "starting":
      return state.lastExit === undefined ? "Pending" : "Running";
    case "running":
    case "backoff":
    case "terminating":
      return "Running";
    case "finished":
      return state.phase;
  }
}

interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
}

function conditionsOf(
  { containers }: KubeletPod,
  state: PodStatusInput["state"],
  phase: Phase,
): readonly Condition[] {
  const ready = readiness(containers, state, phase);
  return [
    phase === "Succeeded"
      ? { type: "Initialized", status: "True", reason: "PodCompleted" }
      : { type: "Initialized", status: "True" },
    { type: "Ready", ...ready },
    { type: "ContainersReady", ...ready },
    { type: "PodScheduled", status: "True" },
  ];
}

function readiness(
  containers: readonly KubeletContainer[],
  state: PodStatusInput["state"],
  phase: Phase,
): Omit<Condition, "type"> {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  if (isReady(state)) return { status: "True" };
  const names = containers.map(({ name }) => name).join(" ");
  const message = `containers with unready status: [${names}]`;
  return { status: "False", reason: "ContainersNotReady", message };
}

function isReady(state: PodStatusInput["state"]): boolean {
  return (state.name === "running" || state.name === "terminating") && state.isReady;
}

/** A condition keeps its time for as long as its status is the same. */
function withTransitionTimes(
  conditions: readonly Condition[],
  previous: readonly unknown[],
  now: string,
): readonly RawRecord[] {
  return conditions.map((condition) => {
    const before = ofType(previous, condition.type);
    const isSame = before !== undefined && before["status"] === condition.status;
    const since = isSame ? optionalString(before, "lastTransitionTime") : undefined;
    return { ...condition, lastTransitionTime: since ?? now };
  });
}

function ofType(conditions: readonly unknown[], type: unknown): RawRecord | undefined {
  return conditions.filter(isRecord).find((condition) => condition["type"] === type);
}

function containerStatus(
  { name, image }: KubeletContainer,
  { pod, state }: PodStatusInput,
): RawRecord {
  const { restarts, lastExit } = state;
  const hasContainer = state.name !== "pending" && state.name !== "starting";
  // A finished pod shows its exit as the state; before that an exit is what came before the state.
  const before = state.name === "finished" ? undefined : lastExit;
  return {
    name,
    image,
    imageID: image,
    ...(hasContainer ? { containerID: `lab://${pod.metadata.uid}/${name}/${restarts}` } : {}),
    ready: isReady(state),
    started: (state.name === "running" || state.name === "terminating") && state.isStarted,
    restartCount: restarts,
    state: containerState(pod, name, state),
    lastState: before === undefined ? {} : { terminated: terminated(before) },
  };
}

function containerState(
  { metadata }: KubeletPod,
  container: string,
  state: PodStatusInput["state"],
): RawRecord {
  switch (state.name) {
    case "pending":
    case "starting":
      return { waiting: { reason: "ContainerCreating" } };
    case "running":
    case "terminating":
      return { running: { startedAt: toTime(state.startedAt) } };
    case "backoff": {
      const { namespace, name, uid } = metadata;
      const message =
        `back-off ${goDuration(state.waitMs)} restarting failed ` +
        `container=${container} pod=${name}_${namespace}(${uid})`;
      return { waiting: { reason: "CrashLoopBackOff", message } };
    }
    case "finished":
      return { terminated: finishedExit(state) };
  }
}

function finishedExit({ lastExit }: PodHistory): RawRecord {
  return lastExit === undefined
    ? {
        exitCode: unknownExitCode,
        reason: "ContainerStatusUnknown",
        message: "The container could not be located when the pod was terminated",
      }
    : terminated(lastExit);
}

function terminated({ exitCode, startedAt, finishedAt }: ContainerExit): RawRecord {
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    startedAt: toTime(startedAt),
    finishedAt: toTime(finishedAt),
  };
}

/** `10s`, `2m40s`, `5m0s`, as Go prints a duration of whole seconds. */
function goDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
