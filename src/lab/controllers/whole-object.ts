// An object kept whole, for controllers that write it back: a PUT must carry every field it does
// not mean to change. Beside the raw object are the few parts that controllers look at often.
import {
  isRecord,
  listAt,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../../kube/kinds/fields.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Kind, ObjectMeta } from "../../kube/kinds/kind.ts";
import { objectRecord, projectMetadata } from "../../kube/kinds/metadata.ts";

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** True for the one owner that manages the object. */
  readonly controller: boolean;
}

export interface WholeObject {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  readonly owners: readonly OwnerReference[];
  /** 0 for kinds that count none. */
  readonly generation: number;
  readonly raw: RawRecord;
}

export type WholeKind = Kind<WholeObject>;

export const wholeEndpoints = wholeKind({ kind: "Endpoints", resource: "endpoints" });
export const wholeSlices = wholeKind({
  group: "discovery.k8s.io",
  kind: "EndpointSlice",
  resource: "endpointslices",
});
export const wholeReplicaSets = wholeKind({
  group: "apps",
  kind: "ReplicaSet",
  resource: "replicasets",
});
export const wholeDeployments = wholeKind({
  group: "apps",
  kind: "Deployment",
  resource: "deployments",
});

export const wholeServiceAccounts = wholeKind({
  kind: "ServiceAccount",
  resource: "serviceaccounts",
});
export const wholeSecrets = wholeKind({ kind: "Secret", resource: "secrets" });
export const wholeConfigMaps = wholeKind({ kind: "ConfigMap", resource: "configmaps" });
export const wholeClusterRoles = wholeKind({
  group: "rbac.authorization.k8s.io",
  kind: "ClusterRole",
  resource: "clusterroles",
  namespaced: false,
});

/** The changes of the next version; other parts stay. */
export interface Revision {
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly fields?: RawRecord;
}

/** The body of a PUT. It carries the version it was made from, so that a stale one is refused. */
export function revised(kind: WholeKind, object: WholeObject, revision: Revision): RawRecord {
  const { labels, annotations, fields } = revision;
  return {
    ...object.raw,
    ...fields,
    ...typeOf(kind),
    metadata: {
      ...recordAt(object.raw, "metadata"),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}

/** `{apiVersion, kind}`, which objects of a list do not carry. */
export function typeOf(kind: Pick<WholeKind, "group" | "version" | "kind">): {
  readonly apiVersion: string;
  readonly kind: string;
} {
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  return { apiVersion, kind: kind.kind };
}

export function controllerOf(object: {
  readonly owners: readonly OwnerReference[];
}): OwnerReference | undefined {
  return object.owners.find((owner) => owner.controller);
}

/** The owner reference of an object, for the objects that it creates. */
export function ownedBy(
  kind: Pick<WholeKind, "group" | "version" | "kind">,
  { name, uid }: Pick<ObjectMeta, "name" | "uid">,
): RawRecord {
  return { ...typeOf(kind), name, uid, controller: true, blockOwnerDeletion: true };
}

export function ownersOf(metadata: RawRecord): readonly OwnerReference[] {
  return listAt(metadata, "ownerReferences")
    .filter(isRecord)
    .map((owner) => ({
      apiVersion: optionalString(owner, "apiVersion") ?? "",
      kind: optionalString(owner, "kind") ?? "",
      name: optionalString(owner, "name") ?? "",
      uid: optionalString(owner, "uid") ?? "",
      controller: owner["controller"] === true,
    }));
}

/** `spec.replicas` and the like, 0 when absent. */
export function numberIn(object: WholeObject, part: "spec" | "status", field: string): number {
  return optionalNumber(recordAt(object.raw, part), field) ?? 0;
}

function wholeKind(names: {
  readonly group?: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespaced?: boolean;
}): WholeKind {
  const scope = { namespaced: names.namespaced ?? true };
  return {
    group: "",
    version: "v1",
    ...names,
    ...scope,
    project(object, similar) {
      const raw = objectRecord(object);
      const metadata = recordAt(raw, "metadata");
      return {
        metadata: projectMetadata(raw, scope, similar?.metadata),
        annotations: stringMapAt(metadata, "annotations", similar?.annotations),
        owners: ownersOf(metadata),
        generation: optionalNumber(metadata, "generation") ?? 0,
        raw,
      };
    },
  };
}
