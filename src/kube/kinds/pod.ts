// A pod as routing sees it: whose it is, where it runs, which addresses and ports it has, and
// whether it is ready, leaving or gone.
import type { WallMs } from "../../environment/clock.ts";
import {
  isRecord,
  listAt,
  optionalBoolean,
  optionalInteger,
  optionalRecordAt,
  optionalString,
  optionalTime,
  type RawRecord,
  recordAt,
  requiredRecord,
  requiredString,
} from "./fields.ts";
import { internString, internStructure, sameString } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export type ConditionStatus = "True" | "False" | "Unknown";

export interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
  readonly protocol: string;
}

/** How the kubelet asks the first container that has a readiness probe. */
export interface ReadinessProbe {
  readonly type: "httpGet" | "tcpSocket" | "grpc" | "exec";
  /** A number or the name of a container port; undefined for `exec`. */
  readonly port: number | string | undefined;
  readonly path: string | undefined;
  readonly scheme: string | undefined;
  /** With a host or headers of its own: asked without them, the pod may answer otherwise. */
  readonly isDressed: boolean;
  readonly timeoutSeconds: number | undefined;
}

export interface Pod {
  readonly metadata: ObjectMeta;
  /** Empty until scheduled. */
  readonly nodeName: string;
  /** It has its node's address, together with every other pod of that kind there. */
  readonly hostNetwork: boolean;
  readonly phase: string;
  /** Of the cluster's primary family; empty until the sandbox exists. */
  readonly podIP: string;
  /** Of the other family in a dual-stack cluster. A pod has at most one address of each. */
  readonly secondPodIP: string | undefined;
  readonly hostname: string | undefined;
  readonly subdomain: string | undefined;
  readonly restartPolicy: string;
  /** Undefined when the pod has no such condition, which counts as not ready. */
  readonly ready: ConditionStatus | undefined;
  readonly readyTransitionTime: WallMs | undefined;
  /** By its condition, or before 1.11, which had none, by the containers themselves. */
  readonly containersReady: ConditionStatus | undefined;
  readonly containersReadyTransitionTime: WallMs | undefined;
  /** When the last of its containers that have ended did so. */
  readonly finishedAt: WallMs | undefined;
  /** Its readiness also depends on conditions that other controllers set. */
  readonly hasReadinessGates: boolean;
  /** Of all containers, in order. */
  readonly ports: readonly ContainerPort[];
  readonly readinessProbe: ReadinessProbe | undefined;
}

export const podKind: Kind<Pod> = {
  group: "",
  version: "v1",
  kind: "Pod",
  resource: "pods",
  namespaced: true,
  project: projectPod,
};

/** The pod's addresses, the primary family's first. */
export function podIPs(pod: Pod): readonly string[] {
  return [pod.podIP, pod.secondPodIP ?? ""].filter((ip) => ip !== "");
}

/** It will not run again. */
export function hasEnded({ phase }: Pick<Pod, "phase">): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Its deletion was asked for; it may serve for as long as its grace period lasts. */
export function isTerminating({ metadata }: Pick<Pod, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function projectPod(raw: unknown, similar?: Pod): Pod {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  const status = recordAt(object, "status");
  const conditions = listAt(status, "conditions");
  const ready = conditionOf(conditions, "Ready");
  const containersReady = conditionOf(conditions, "ContainersReady");
  const containers = listAt(spec, "containers");
  const ips = listAt(status, "podIPs").map(ipOf);
  const containerStatuses = listAt(status, "containerStatuses");
  return {
    metadata: projectMetadata(object, podKind, similar?.metadata),
    nodeName: internString(optionalString(spec, "nodeName") ?? "", similar?.nodeName),
    hostNetwork: optionalBoolean(spec, "hostNetwork") ?? false,
    phase: internString(optionalString(status, "phase") ?? "", similar?.phase),
    podIP: sameString(ips[0] ?? optionalString(status, "podIP") ?? "", similar?.podIP),
    secondPodIP: ips[1],
    hostname: optionalString(spec, "hostname"),
    subdomain: optionalString(spec, "subdomain"),
    restartPolicy: internString(
      optionalString(spec, "restartPolicy") ?? "",
      similar?.restartPolicy,
    ),
    ready: ready === undefined ? undefined : statusOf(ready),
    readyTransitionTime: ready && optionalTime(ready, "lastTransitionTime"),
    containersReady:
      containersReady === undefined ? containersSay(containerStatuses) : statusOf(containersReady),
    containersReadyTransitionTime:
      containersReady && optionalTime(containersReady, "lastTransitionTime"),
    finishedAt: finishedAtOf(containerStatuses),
    hasReadinessGates: listAt(spec, "readinessGates").length > 0,
    ports: portsOf(containers, similar?.ports),
    readinessProbe: readinessProbeOf(containers, similar?.readinessProbe),
  };
}

/** Servers older than 1.16 have no list of them. */
function ipOf(entry: unknown): string {
  return requiredString(requiredRecord(entry, "an item of podIPs"), "ip");
}

function conditionOf(conditions: readonly unknown[], type: string): RawRecord | undefined {
  for (const entry of conditions) {
    const condition = requiredRecord(entry, "an item of conditions");
    if (condition["type"] === type) {
      return condition;
    }
  }
  return undefined;
}

function containersSay(statuses: readonly unknown[]): ConditionStatus | undefined {
  if (statuses.length === 0) return undefined;
  const areReady = statuses.every(
    (entry) => requiredRecord(entry, "a container's status")["ready"] === true,
  );
  return areReady ? "True" : "False";
}

function finishedAtOf(statuses: readonly unknown[]): WallMs | undefined {
  let latest: WallMs | undefined;
  for (const entry of statuses) {
    const { state } = requiredRecord(entry, "a container's status");
    const ended = isRecord(state) ? optionalRecordAt(state, "terminated") : undefined;
    const at = ended && optionalTime(ended, "finishedAt");
    if (at !== undefined && (latest === undefined || at > latest)) latest = at;
  }
  return latest;
}

/** A status Kubernetes does not define is not known to be true. */
function statusOf(condition: RawRecord): ConditionStatus {
  const status = condition["status"];
  return status === "True" || status === "False" ? status : "Unknown";
}

function portsOf(
  containers: readonly unknown[],
  similar: readonly ContainerPort[] | undefined,
): readonly ContainerPort[] {
  const ports: ContainerPort[] = [];
  for (const container of containers) {
    for (const entry of listAt(requiredRecord(container, "a container"), "ports")) {
      const port = requiredRecord(entry, "a port");
      ports.push({
        name: optionalString(port, "name") ?? "",
        containerPort: optionalInteger(port, "containerPort") ?? 0,
        protocol: optionalString(port, "protocol") ?? "TCP",
      });
    }
  }
  return internStructure<readonly ContainerPort[]>(ports, similar);
}

function readinessProbeOf(
  containers: readonly unknown[],
  similar: ReadinessProbe | undefined,
): ReadinessProbe | undefined {
  for (const container of containers) {
    const probe = optionalRecordAt(requiredRecord(container, "a container"), "readinessProbe");
    if (probe !== undefined) {
      return internStructure(probeOf(probe), similar);
    }
  }
  return undefined;
}

function probeOf(probe: RawRecord): ReadinessProbe {
  const timeoutSeconds = optionalInteger(probe, "timeoutSeconds");
  for (const type of ["httpGet", "tcpSocket", "grpc"] as const) {
    const action = optionalRecordAt(probe, type);
    if (action !== undefined) {
      const port = action["port"];
      return {
        type,
        port: typeof port === "number" || typeof port === "string" ? port : undefined,
        path: optionalString(action, "path"),
        scheme: optionalString(action, "scheme"),
        isDressed:
          (optionalString(action, "host") ?? "") !== "" || listAt(action, "httpHeaders").length > 0,
        timeoutSeconds,
      };
    }
  }
  const none = { port: undefined, path: undefined, scheme: undefined };
  return { type: "exec", ...none, isDressed: false, timeoutSeconds };
}
