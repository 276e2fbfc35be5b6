// The metadata every projection carries. Name, uid and resourceVersion must be there: an object
// without them cannot be stored, compared or deleted.
import type { RawRecord } from "./fields.ts";
import {
  isRecord,
  optionalInteger,
  optionalTime,
  requiredRecord,
  requiredString,
  stringMapAt,
} from "./fields.ts";
import { internString, sameString } from "./intern.ts";
import type { ObjectMeta } from "./kind.ts";

/** The raw object as a record, for the fields a projection reads itself. */
export function objectRecord(raw: unknown): RawRecord {
  return requiredRecord(raw, "the object");
}

export function projectMetadata(
  object: RawRecord,
  scope: { readonly namespaced: boolean },
  similar: ObjectMeta | undefined,
): ObjectMeta {
  const metadata = requiredRecord(object["metadata"], "metadata");
  return {
    namespace: scope.namespaced
      ? internString(requiredString(metadata, "namespace"), similar?.namespace)
      : "",
    name: sameString(requiredString(metadata, "name"), similar?.name),
    uid: sameString(requiredString(metadata, "uid"), similar?.uid),
    resourceVersion: requiredString(metadata, "resourceVersion"),
    creationTimestamp: optionalTime(metadata, "creationTimestamp"),
    deletionTimestamp: optionalTime(metadata, "deletionTimestamp"),
    deletionGracePeriodSeconds: optionalInteger(metadata, "deletionGracePeriodSeconds"),
    labels: stringMapAt(metadata, "labels", similar?.labels),
  };
}

/** The name of an object that cannot be projected; undefined when not even that can be read. */
export function identify(raw: unknown): Pick<ObjectMeta, "namespace" | "name"> | undefined {
  const metadata = metadataOf(raw);
  const namespace = metadata?.["namespace"] ?? "";
  const name = metadata?.["name"];
  return typeof namespace === "string" && typeof name === "string" && name !== ""
    ? { namespace, name }
    : undefined;
}

/** Of any object, a bookmark or a list included; undefined when there is none. */
export function resourceVersionOf(raw: unknown): string | undefined {
  const version = metadataOf(raw)?.["resourceVersion"];
  return typeof version === "string" && version !== "" ? version : undefined;
}

function metadataOf(raw: unknown): RawRecord | undefined {
  const metadata = isRecord(raw) ? raw["metadata"] : undefined;
  return isRecord(metadata) ? metadata : undefined;
}
