// The kinds that the doctor lists in a live cluster, and the fields that it keeps of each object. All
// other fields are dropped before an object is read or saved: data of ConfigMaps, environment variables
// and arguments of pods can hold passwords. Secrets are never read.
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";

export interface LiveKind {
  readonly kind: string;
  readonly resource: string;
  /** Newest first; an old server has only a later one. */
  readonly roots: readonly string[];
  /** Of `spec` and `status`. */
  readonly fields: readonly string[];
}

const core = ["/api/v1"];

/** Pods come after the locks, so that the holder of a lock had time to be listed. */
export const liveKinds: readonly LiveKind[] = [
  { kind: "Node", resource: "nodes", roots: core, fields: ["status.conditions"] },
  {
    kind: "Lease",
    resource: "leases",
    roots: ["/apis/coordination.k8s.io/v1", "/apis/coordination.k8s.io/v1beta1"],
    fields: ["spec"],
  },
  { kind: "ConfigMap", resource: "configmaps", roots: core, fields: [] },
  { kind: "Endpoints", resource: "endpoints", roots: core, fields: ["subsets"] },
  { kind: "Service", resource: "services", roots: core, fields: ["spec"] },
  {
    kind: "Pod",
    resource: "pods",
    roots: core,
    fields: [
      "spec.nodeName",
      "spec.containers",
      "status.conditions",
      "status.containerStatuses",
      "status.phase",
      "status.podIP",
    ],
  },
  {
    kind: "Ingress",
    resource: "ingresses",
    roots: [
      "/apis/networking.k8s.io/v1",
      "/apis/networking.k8s.io/v1beta1",
      "/apis/extensions/v1beta1",
    ],
    fields: ["status"],
  },
  {
    kind: "Event",
    resource: "events",
    roots: core,
    fields: ["involvedObject", "reason", "message", "count", "lastTimestamp"],
  },
];

const rbac = ["/apis/rbac.authorization.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1beta1"];

/** Only to compare two clusters. */
export const roleKinds: readonly LiveKind[] = [
  { kind: "ClusterRole", resource: "clusterroles", roots: rbac, fields: ["rules"] },
  { kind: "Role", resource: "roles", roots: rbac, fields: ["rules"] },
];

export const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
const keptAnnotations = [leaderAnnotation, "endpoints.kubernetes.io/over-capacity"];
const keptMetadata = ["name", "namespace", "labels", "creationTimestamp", "deletionTimestamp"];
const keptOfContainer = ["name", "image", "ports"];

/** The effect of a missing permission to read a resource. */
export const effectsWithout: Readonly<Record<string, string>> = {
  nodes: "heartbeats in the status of nodes are not examined",
  leases: "heartbeats of nodes and leader locks are not examined",
  configmaps: "leader locks of older controllers are not examined",
  endpoints:
    "published Endpoints, leader locks in them, and the addresses of the service kubernetes are not examined",
  services: "services are not compared with their pods and endpoints",
  pods: "services and leader locks are not compared with pods, and the control plane's pods are not found",
  ingresses: "an empty status of Ingresses is not found",
  events: "Events are not examined",
  clusterroles: "cluster roles are not compared with those of the other cluster",
  roles: "roles are not compared with those of the other cluster",
  "pods/log": "logs of the control plane and of ingress controllers are not read",
  "pods/proxy": "metrics of controller managers are not read",
  "/metrics": "metrics of the API server are not read",
};

/** Only the fields that causes read. */
export function trimmed({ kind, fields }: LiveKind, object: RawRecord): RawRecord {
  const metadata = recordIn(object, "metadata");
  const annotations = picked(recordIn(metadata, "annotations"), keptAnnotations);
  const kept: Record<string, unknown> = {
    kind,
    metadata: { ...picked(metadata, keptMetadata), annotations },
  };
  for (const field of fields) {
    const [first = "", second] = field.split(".");
    if (second === undefined) {
      if (first in object) kept[first] = object[first];
      continue;
    }
    const part = recordIn(object, first);
    if (!(second in part)) continue;
    const value = second === "containers" ? containersOf(part[second]) : part[second];
    kept[first] = { ...recordIn(kept, first), [second]: value };
  }
  return kept;
}

function containersOf(value: unknown): readonly RawRecord[] {
  return recordsIn(value).map((container) => picked(container, keptOfContainer));
}

/** Whether an object says who leads, or may do so: others of these kinds are passed over. */
export function isLock(object: RawRecord): boolean {
  return leaderAnnotation in recordIn(recordIn(object, "metadata"), "annotations");
}

export function recordIn(object: RawRecord, field: string): RawRecord {
  const value = object[field];
  return isRecord(value) ? value : {};
}

export function recordsIn(value: unknown): readonly RawRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function textIn(object: RawRecord, field: string): string {
  const value = object[field];
  return typeof value === "string" ? value : "";
}

function picked(object: RawRecord, names: readonly string[]): RawRecord {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name)));
}
