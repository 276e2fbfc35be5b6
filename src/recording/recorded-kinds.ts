// The recorded part of each object: the fields that a verdict or a witness may need, in the places
// where Kubernetes has them, so that one reader understands recordings and objects saved with
// kubectl alike. Fields that change all the time without meaning (versions, heartbeats of healthy
// nodes) are left out, so that a repeated unchanged write is no change.
import { isRecord, listAt, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import type { Kind, Projected } from "../kube/kinds/kind.ts";
import { objectRecord } from "../kube/kinds/metadata.ts";

export type RecordedKindName = "Pod" | "EndpointSlice" | "Endpoints" | "Service" | "Node";

/** An object as it will be written. */
export interface Recorded extends Projected {
  readonly json: string;
}

interface RecordedKind {
  readonly kind: RecordedKindName;
  readonly namespaced: boolean;
  /** The kept part of an object, as JSON. */
  readonly jsonOf: (raw: unknown) => string;
}

/** The same kind, whose objects also carry what is written of them. */
export function withJson<T extends Projected>(kind: Kind<T>): Kind<T & Recorded> {
  const recorded = Object.values(recordedKinds).find((one) => one.kind === kind.kind);
  if (recorded === undefined) throw new RangeError(`${kind.kind} is not recorded`);
  return {
    ...kind,
    project: (raw, similar) => ({ ...kind.project(raw, similar), json: recorded.jsonOf(raw) }),
  };
}

export const recordedKinds: Readonly<Record<RecordedKindName, RecordedKind>> = {
  Pod: { kind: "Pod", namespaced: true, jsonOf: keeping(prunedPod) },
  EndpointSlice: { kind: "EndpointSlice", namespaced: true, jsonOf: keeping(prunedSlice) },
  Endpoints: { kind: "Endpoints", namespaced: true, jsonOf: keeping(prunedEndpoints) },
  Service: { kind: "Service", namespaced: true, jsonOf: keeping(prunedService) },
  Node: { kind: "Node", namespaced: false, jsonOf: keeping(prunedNode) },
};

function keeping(pruned: (object: RawRecord) => RawRecord): RecordedKind["jsonOf"] {
  return (raw) => {
    const object = objectRecord(raw);
    return JSON.stringify({ metadata: prunedMetadata(object), ...pruned(object) });
  };
}

const metadataFields = [
  "namespace",
  "name",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
];

/** When pods changed that a list was made from, and of which cluster a list is a copy. */
const keptAnnotations = [
  "endpoints.kubernetes.io/last-change-trigger-time",
  "endpointslice.karmada.io/provision-cluster",
];

function prunedMetadata(object: RawRecord): RawRecord {
  const metadata = recordAt(object, "metadata");
  const annotations = picked(recordAt(metadata, "annotations"), keptAnnotations);
  const isAnnotated = Object.keys(annotations).length > 0;
  return { ...picked(metadata, metadataFields), ...(isAnnotated && { annotations }) };
}

function prunedPod(object: RawRecord): RawRecord {
  const spec = recordAt(object, "spec");
  const status = recordAt(object, "status");
  const containers = listAt(spec, "containers").filter(isRecord);
  return {
    spec: {
      ...picked(spec, ["nodeName", "hostNetwork"]),
      // That there is a probe matters, not what it asks.
      containers: containers.map((one) => ({
        ...picked(one, ["name"]),
        // Services name ports; and pods on one host's address differ in nothing else.
        ...prunedPorts(one, ["name", "containerPort", "hostPort", "protocol"]),
        ...(isRecord(one["readinessProbe"]) && { readinessProbe: {} }),
      })),
    },
    status: {
      ...picked(status, ["phase", "podIP", "podIPs"]),
      conditions: readyConditions(status, ["type", "status", "reason", "lastTransitionTime"]),
      containerStatuses: listAt(status, "containerStatuses").filter(isRecord).map(prunedContainer),
    },
  };
}

/** Nothing where there are none. */
function prunedPorts(record: RawRecord, fields: readonly string[]): RawRecord {
  const ports = listAt(record, "ports").filter(isRecord);
  return ports.length === 0 ? {} : { ports: ports.map((port) => picked(port, fields)) };
}

function prunedContainer(status: RawRecord): RawRecord {
  return {
    ...picked(status, ["name", "ready", "restartCount"]),
    state: prunedState(recordAt(status, "state")),
    lastState: prunedState(recordAt(status, "lastState")),
  };
}

function prunedState(state: RawRecord): RawRecord {
  const one = (name: string, fields: readonly string[]): RawRecord =>
    isRecord(state[name]) ? { [name]: picked(state[name], fields) } : {};
  return {
    ...one("running", ["startedAt"]),
    ...one("waiting", ["reason"]),
    ...one("terminated", ["finishedAt", "exitCode", "reason"]),
  };
}

function prunedSlice(object: RawRecord): RawRecord {
  return {
    ...picked(object, ["addressType"]),
    endpoints: listAt(object, "endpoints")
      .filter(isRecord)
      .map((one) => ({
        ...picked(one, ["addresses", "conditions"]),
        ...prunedTarget(one),
      })),
    ports: listAt(object, "ports")
      .filter(isRecord)
      .map((port) => picked(port, ["port"])),
  };
}

function prunedEndpoints(object: RawRecord): RawRecord {
  const addresses = (subset: RawRecord, field: string): readonly RawRecord[] =>
    listAt(subset, field)
      .filter(isRecord)
      .map((one) => ({ ...picked(one, ["ip"]), ...prunedTarget(one) }));
  return {
    subsets: listAt(object, "subsets")
      .filter(isRecord)
      .map((subset) => ({
        addresses: addresses(subset, "addresses"),
        notReadyAddresses: addresses(subset, "notReadyAddresses"),
        ports: listAt(subset, "ports")
          .filter(isRecord)
          .map((port) => picked(port, ["port"])),
      })),
  };
}

function prunedTarget(entry: RawRecord): RawRecord {
  const target = entry["targetRef"];
  return isRecord(target)
    ? { targetRef: picked(target, ["kind", "namespace", "name", "uid"]) }
    : {};
}

function prunedService(object: RawRecord): RawRecord {
  const spec = recordAt(object, "spec");
  const addresses = ["clusterIP", "clusterIPs", "ipFamilies"];
  const fields = ["type", "selector", "externalName", "publishNotReadyAddresses", ...addresses];
  const ports = prunedPorts(spec, ["name", "port", "protocol", "targetPort"]);
  return { spec: { ...picked(spec, fields), ...ports } };
}

/** While a node is well its heartbeat is left out; the last one before it was lost is what counts. */
function prunedNode(object: RawRecord): RawRecord {
  const status = recordAt(object, "status");
  const fields = ["type", "status", "reason", "lastTransitionTime"];
  const [ready] = readyConditions(status, ["status"]);
  const isWell = ready?.["status"] === "True";
  const conditions = readyConditions(status, isWell ? fields : [...fields, "lastHeartbeatTime"]);
  return { status: { conditions } };
}

function readyConditions(status: RawRecord, fields: readonly string[]): readonly RawRecord[] {
  return listAt(status, "conditions")
    .filter(isRecord)
    .filter((condition) => condition["type"] === "Ready")
    .map((condition) => picked(condition, fields));
}

function picked(record: RawRecord, fields: readonly string[]): RawRecord {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = record[field];
      return value === undefined || value === null ? [] : [[field, value]];
    }),
  );
}
