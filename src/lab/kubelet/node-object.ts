// The Node a kubelet registers, and the status it goes on posting. Pure. Words and fields are those
// of a Kubernetes kubelet on a machine that lacks nothing.
import { toTime, type WallMs } from "../../environment/clock.ts";
import { isRecord, listAt, optionalString, type RawRecord } from "../../kube/kinds/fields.ts";
import type { KubeletRules } from "./kubelet-rules.ts";

export interface NodeFacts {
  readonly name: string;
  readonly address: string;
  readonly rules: KubeletRules;
  /** Of a machine that is kept for something: its taints. */
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
}

/** The capacity of the machine; nothing in the lab measures it. */
const resources = { cpu: "8", memory: "32Gi", "ephemeral-storage": "100Gi", pods: "110" };

/** OutOfDisk was there until 1.12, PIDPressure since 1.10. */
const healthy = [
  ["OutOfDisk", "False", "KubeletHasSufficientDisk", "has sufficient disk space available"],
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "has sufficient memory available"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "has sufficient PID available"],
  ["Ready", "True", "KubeletReady", "is posting ready status"],
] as const;

export function nodeObject(facts: NodeFacts, now: WallMs): RawRecord {
  const { name, taints, rules } = facts;
  const labels = {
    "kubernetes.io/hostname": name,
    ...(rules.stableLabels ? { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" } : {}),
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  const metadata = { name, labels };
  const spec = taints === undefined ? {} : { taints };
  return { apiVersion: "v1", kind: "Node", metadata, spec, status: nodeStatus(facts, {}, now) };
}

/** The current status from the kubelet; unchanged conditions keep their transition time. */
export function nodeStatus(
  { name, address, rules }: NodeFacts,
  previous: RawRecord,
  now: WallMs,
): RawRecord {
  const time = toTime(now);
  const before = listAt(previous, "conditions").filter(isRecord);
  const types = [...rules.otherConditions, "Ready"];
  const posted = healthy.filter(([type]) => types.includes(type));
  const conditions = posted.map(([type, status, reason, message]) => {
    const known = before.find((condition) => condition["type"] === type);
    const since = known?.["status"] === status && optionalString(known, "lastTransitionTime");
    return {
      type,
      status,
      reason,
      message: `kubelet ${message}`,
      lastHeartbeatTime: time,
      lastTransitionTime: since || time,
    };
  });
  return {
    capacity: resources,
    allocatable: resources,
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: name },
    ],
    conditions,
    nodeInfo: nodeInfo(name, rules.version),
  };
}

/** True when the two have the same content, whatever their times. */
export function saysTheSame(held: RawRecord, own: RawRecord): boolean {
  const heldConditions = listAt(held, "conditions").filter(isRecord);
  return listAt(own, "conditions")
    .filter(isRecord)
    .every(({ type, status, reason, message }) =>
      heldConditions.some(
        (one) =>
          one["type"] === type &&
          one["status"] === status &&
          one["reason"] === reason &&
          one["message"] === message,
      ),
    );
}

function nodeInfo(name: string, kubeletVersion: string): RawRecord {
  return {
    machineID: name,
    systemUUID: name,
    bootID: name,
    kernelVersion: "6.1.0",
    osImage: "Lockstep lab",
    containerRuntimeVersion: "lab://1.0.0",
    kubeletVersion,
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: "amd64",
  };
}
