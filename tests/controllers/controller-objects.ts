// Pods, services, nodes and whole objects with just what a table wants to say.
import { type Node, nodeKind } from "../../src/kube/kinds/node.ts";
import { type Service, serviceKind } from "../../src/kube/kinds/service.ts";
import { type OwnedPod, ownedPodKind } from "../../src/lab/controllers/owned-pod.ts";
import type { WholeKind, WholeObject } from "../../src/lab/controllers/whole-object.ts";

export interface PodFields {
  readonly ready?: boolean | undefined;
  readonly readyAt?: string;
  readonly ip?: string;
  readonly secondIp?: string;
  readonly node?: string;
  readonly phase?: string;
  readonly deleted?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly version?: string;
  readonly created?: string;
  readonly uid?: string;
  /** Of the spec: ports of the only container, hostname, restartPolicy. */
  readonly ports?: readonly object[];
  readonly spec?: object;
}

export function podOf(name: string, fields: PodFields = {}): OwnedPod {
  const { ready, ip = "10.0.0.1", secondIp, node = "n1" } = fields;
  const status = ready === true ? "True" : "False";
  const readyAt = fields.readyAt ?? "2026-01-01T00:00:00Z";
  return ownedPodKind.project({
    metadata: {
      ...meta(name, fields.version ?? "7", fields.uid),
      labels: fields.labels ?? { app: "web" },
      creationTimestamp: fields.created ?? "2026-01-01T00:00:00Z",
      ...(fields.deleted === true ? { deletionTimestamp: "2026-01-01T00:01:00Z" } : {}),
    },
    spec: {
      nodeName: node,
      restartPolicy: "Always",
      containers: [{ name: "c", ports: fields.ports ?? [] }],
      ...fields.spec,
    },
    status: {
      phase: fields.phase ?? "Running",
      podIPs: [ip, secondIp]
        .filter((one) => one !== undefined && one !== "")
        .map((one) => ({ ip: one })),
      conditions:
        ready === undefined ? [] : [{ type: "Ready", status, lastTransitionTime: readyAt }],
    },
  });
}

export function serviceOf(spec: object = {}, labels: object = {}): Service {
  return serviceKind.project({
    metadata: { ...meta("web", "5"), labels, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      clusterIP: "10.96.0.1",
      ipFamilies: ["IPv4"],
      selector: { app: "web" },
      ports: [{ port: 80, targetPort: 8080 }],
      ...spec,
    },
  });
}

export function nodeOf(name: string, labels: object = {}): Node {
  const { namespace: _, ...clusterWide } = meta(name, "3");
  return nodeKind.project({ metadata: { ...clusterWide, labels } });
}

/** `fields` are those of the object; `metadata` is added to what every object has. */
export function wholeOf(
  kind: WholeKind,
  name: string,
  fields: object = {},
  metadata: object = {},
): WholeObject {
  return kind.project({ metadata: { ...meta(name, "9"), ...metadata }, ...fields });
}

function meta(name: string, resourceVersion: string, uid = `uid-${name}`) {
  return { namespace: "default", name, uid, resourceVersion };
}
