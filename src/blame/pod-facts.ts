// The facts of one version of a pod that matter to a verdict, read from a recording or from an
// object saved with kubectl.

import {
  isRecord,
  listAt,
  optionalBoolean,
  optionalNumber,
  optionalString,
  optionalTime,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../kube/kinds/fields.ts";
import { internString, type StringMap } from "../kube/kinds/intern.ts";
import { hasEnded } from "../kube/kinds/pod.ts";
import { optionalName, requiredName } from "../recording/metadata-text.ts";

/** More than any pod has of each; the rest is ignored. */
const containersMax = 200;
const portsMax = 200;
const addressesMax = 8;

export interface PodFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  /** Empty until scheduled. */
  readonly node: string;
  /** It shares its address with its node and with every such pod there. */
  readonly hostNetwork: boolean;
  readonly addresses: readonly string[];
  /** Ports that its containers declare; they need not listen on them. */
  readonly ports: readonly number[];
  readonly hasReadinessProbe: boolean;
  readonly createdMs: number | undefined;
  readonly isReady: boolean;
  /** When readiness last changed, by the cluster's clock, in whole seconds. */
  readonly readyChangedMs: number | undefined;
  /**
   * The node controller marked it as not ready because its node did not report; its kubelet did
   * not.
   */
  readonly isGivenUp: boolean;
  /** When the deletion was requested, likewise; undefined before. */
  readonly deletionAskedMs: number | undefined;
  /** It has succeeded or failed, and will not run again. */
  readonly isOver: boolean;
  readonly containers: readonly ContainerFacts[];
}

export interface ContainerFacts {
  readonly name: string;
  readonly state: "running" | "waiting" | "terminated" | "unknown";
  /** When it began to run, or ended; by the kubelet's clock, in whole seconds. */
  readonly sinceMs: number | undefined;
  /** When the one before it in this place ended. */
  readonly lastEndedMs: number | undefined;
  /** Why it ended, or the one before it did: `OOMKilled`, `exit code 1`. */
  readonly endedBy: string | undefined;
}

/** Throws `MalformedObjectError`, and nothing else, when it cannot be understood. */
export function readPod(object: RawRecord): PodFacts {
  const metadata = recordAt(object, "metadata");
  const spec = recordAt(object, "spec");
  const status = recordAt(object, "status");
  const ready = listAt(status, "conditions")
    .filter(isRecord)
    .find((condition) => condition["type"] === "Ready");
  const phase = optionalString(status, "phase");
  const isReady = ready?.["status"] === "True";
  return {
    uid: requiredName(metadata, "uid"),
    namespace: internString(requiredName(metadata, "namespace")),
    name: requiredName(metadata, "name"),
    labels: stringMapAt(metadata, "labels"),
    node: internString(optionalName(spec, "nodeName") ?? ""),
    hostNetwork: optionalBoolean(spec, "hostNetwork") ?? false,
    addresses: addressesOf(status),
    ports: listAt(spec, "containers")
      .slice(0, containersMax)
      .filter(isRecord)
      .flatMap(portsOf)
      .slice(0, portsMax),
    hasReadinessProbe: listAt(spec, "containers").some(
      (one) => isRecord(one) && isRecord(one["readinessProbe"]),
    ),
    createdMs: optionalTime(metadata, "creationTimestamp"),
    isReady,
    readyChangedMs: ready && optionalTime(ready, "lastTransitionTime"),
    isGivenUp: !isReady && ready !== undefined && isGivenUp(ready, status),
    deletionAskedMs: deletionAskedMs(metadata),
    isOver: hasEnded({ phase: phase ?? "" }),
    containers: listAt(status, "containerStatuses")
      .slice(0, containersMax)
      .filter(isRecord)
      .map(containerOf),
  };
}

/** Servers older than 1.16 have no list of them. */
function addressesOf(status: RawRecord): readonly string[] {
  const listed = listAt(status, "podIPs")
    .slice(0, addressesMax)
    .filter(isRecord)
    .map((entry) => requiredName(entry, "ip"));
  if (listed.length > 0) return listed;
  const only = optionalName(status, "podIP") ?? "";
  return only === "" ? [] : [only];
}

function portsOf(container: RawRecord): readonly number[] {
  return listAt(container, "ports")
    .filter(isRecord)
    .map((port) => optionalNumber(port, "containerPort") ?? 0);
}

/**
 * With every reason for not ready, a container is not ready, except this one: a readiness gate is
 * not.
 */
const gatesNotReady = "ReadinessGatesNotReady";

/** The controller that gives a node up changes the pod's condition and leaves the containers' be. */
function isGivenUp(ready: RawRecord, status: RawRecord): boolean {
  const containers = listAt(status, "containerStatuses").filter(isRecord);
  const areReady = containers.length > 0 && containers.every((one) => one["ready"] === true);
  return areReady && ready["reason"] !== gatesNotReady;
}

/** `deletionTimestamp` is when the pod will be gone at the latest: the grace period lies before it. */
function deletionAskedMs(metadata: RawRecord): number | undefined {
  const byMs = optionalTime(metadata, "deletionTimestamp");
  if (byMs === undefined) return undefined;
  const graceSeconds = optionalNumber(metadata, "deletionGracePeriodSeconds") ?? 0;
  return byMs - Math.max(0, Math.min(graceSeconds, graceSecondsMost)) * 1_000;
}

/** A year is more than any real grace period, and every sum with it is still a valid time. */
const graceSecondsMost = 31_536_000;

function containerOf(status: RawRecord): ContainerFacts {
  const state = recordAt(status, "state");
  const lastEnd = recordAt(recordAt(status, "lastState"), "terminated");
  const { running, terminated } = { running: state["running"], terminated: state["terminated"] };
  const shared = {
    name: optionalName(status, "name") ?? "",
    lastEndedMs: optionalTime(lastEnd, "finishedAt"),
    endedBy: endedBy(isRecord(terminated) ? terminated : lastEnd),
  };
  if (isRecord(running)) {
    return { ...shared, state: "running", sinceMs: optionalTime(running, "startedAt") };
  }
  if (isRecord(terminated)) {
    return { ...shared, state: "terminated", sinceMs: optionalTime(terminated, "finishedAt") };
  }
  const isWaiting = isRecord(state["waiting"]);
  return { ...shared, state: isWaiting ? "waiting" : "unknown", sinceMs: undefined };
}

/** A reason that only says that it ended says less than the code it ended with. */
function endedBy(terminated: RawRecord): string | undefined {
  const reason = optionalName(terminated, "reason");
  if (reason !== undefined && reason !== "Error" && reason !== "Completed") return reason;
  const code = optionalNumber(terminated, "exitCode") ?? 0;
  return code === 0 ? undefined : `exit code ${code}`;
}
