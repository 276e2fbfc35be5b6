// One change to the access cluster, as data: the action, the object and its version, and a short
// reason. Outputs apply it as it is, and a dry run prints it.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { ObjectMeta } from "../../kube/kinds/kind.ts";

export type SyncedKind =
  | "Namespace"
  | "Service"
  | "EndpointSlice"
  | "Endpoints"
  | "ServiceImport"
  | "Ingress"
  | "Secret";

export type SyncWrite = Place &
  (
    | { readonly type: "create"; readonly object: RawRecord }
    /** A JSON merge patch: it names only what changes, and the version it changes. */
    | {
        readonly type: "update";
        readonly patch: RawRecord;
        readonly resourceVersion: string;
        /** Of the object's status, where that is written apart. */
        readonly subresource?: "status";
      }
    /** Only this very version: one that changed since has to be looked at again. */
    | { readonly type: "delete"; readonly uid: string; readonly resourceVersion: string }
    /** Without a condition: for an object of which only the name is known. */
    | { readonly type: "delete"; readonly uid?: undefined; readonly resourceVersion?: undefined }
  );

interface Place {
  readonly kind: SyncedKind;
  /** Empty for a Namespace. */
  readonly namespace: string;
  readonly name: string;
  /** The source cluster of an object that is of one alone. */
  readonly cluster?: string;
  /** The text for people: `2 endpoints of lab-1 join`. */
  readonly summary: string;
}

export function deletion(
  kind: SyncedKind,
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  summary: string,
): SyncWrite {
  return { type: "delete", kind, namespace, name, uid, resourceVersion, summary };
}

/** Without the values of a Secret, to be printed. */
export function shownWrite(write: SyncWrite): SyncWrite {
  if (write.kind !== "Secret" || write.type === "delete") return write;
  const hidden = { data: "hidden" };
  return write.type === "create"
    ? { ...write, object: { ...write.object, ...hidden } }
    : { ...write, patch: { ...write.patch, ...hidden } };
}

/** `update EndpointSlice shop/web-lab-1-0: 1 endpoint of lab-1 leaves` */
export function describeWrite({
  type,
  kind,
  namespace,
  name,
  summary,
}: Pick<SyncWrite, "type" | "namespace" | "name" | "summary"> & { readonly kind: string }): string {
  const place = namespace === "" ? name : `${namespace}/${name}`;
  return `${type} ${kind} ${place}: ${summary}`;
}
