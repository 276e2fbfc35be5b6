// A node: whether its kubelet reports, and since when. If it does not, the node controller marks
// its pods as unready, although they may still serve.
import type { WallMs } from "../../environment/clock.ts";
import {
  listAt,
  optionalBoolean,
  optionalString,
  optionalTime,
  type RawRecord,
  recordAt,
  requiredRecord,
} from "./fields.ts";
import { internStructure } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";
import type { ConditionStatus } from "./pod.ts";

export interface NodeReady {
  /** `Unknown` when the kubelet has not reported to the controller. */
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly lastTransitionTime: WallMs | undefined;
  readonly lastHeartbeatTime: WallMs | undefined;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface Node {
  readonly metadata: ObjectMeta;
  readonly ready: NodeReady | undefined;
  readonly unschedulable: boolean;
  readonly taints: readonly Taint[];
  /** In the order the node gives them. */
  readonly internalIPs: readonly string[];
  readonly kubeletVersion: string;
}

export const nodeKind: Kind<Node> = {
  group: "",
  version: "v1",
  kind: "Node",
  resource: "nodes",
  namespaced: false,
  project: projectNode,
};

function projectNode(raw: unknown, similar?: Node): Node {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  const status = recordAt(object, "status");
  return {
    metadata: projectMetadata(object, nodeKind, similar?.metadata),
    ready: readyOf(status),
    unschedulable: optionalBoolean(spec, "unschedulable") ?? false,
    taints: internStructure(listAt(spec, "taints").map(taint)),
    internalIPs: internalIPsOf(status),
    kubeletVersion: optionalString(recordAt(status, "nodeInfo"), "kubeletVersion") ?? "",
  };
}

function readyOf(status: RawRecord): NodeReady | undefined {
  for (const entry of listAt(status, "conditions")) {
    const condition = requiredRecord(entry, "a condition");
    if (condition["type"] === "Ready") {
      const value = condition["status"];
      return {
        status: value === "True" || value === "False" ? value : "Unknown",
        reason: optionalString(condition, "reason") ?? "",
        lastTransitionTime: optionalTime(condition, "lastTransitionTime"),
        lastHeartbeatTime: optionalTime(condition, "lastHeartbeatTime"),
      };
    }
  }
  return undefined;
}

function taint(entry: unknown): Taint {
  const record = requiredRecord(entry, "a taint");
  return {
    key: optionalString(record, "key") ?? "",
    value: optionalString(record, "value") ?? "",
    effect: optionalString(record, "effect") ?? "",
  };
}

function internalIPsOf(status: RawRecord): readonly string[] {
  const ips: string[] = [];
  for (const entry of listAt(status, "addresses")) {
    const address = requiredRecord(entry, "an address");
    const ip = optionalString(address, "address");
    if (address["type"] === "InternalIP" && ip !== undefined) {
      ips.push(ip);
    }
  }
  return ips;
}
