// From checked JSON to an object of a kind, and from an object to the one form that is stored.
import { conform } from "../decode/conform.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import { validateMeta, validateMetaUpdate } from "../kinds/object-meta.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject, ObjectMeta } from "../kube-object.ts";

/** Takes JSON that already conforms to the kind's schema. */
export function asKubeObject(kind: ResourceKind, value: JsonObject): KubeObject {
  const given = isJsonObject(value["metadata"]) ? value["metadata"] : {};
  const metadata: JsonObject = { ...given, name: textAt(given, "name") };
  if (!isObjectMeta(metadata)) {
    throw new Error("metadata without a name passed the schema");
  }
  return { ...value, apiVersion: groupVersion(kind), kind: kind.kind, metadata };
}

/** A deep copy in the one order of fields; whatever the kind does not know is dropped. */
export function canonicalCopy(kind: ResourceKind, object: KubeObject): KubeObject {
  kind.canonicalize?.(object);
  return asKubeObject(kind, conform(kind.schema, object).value);
}

/** Throws one 422 that lists everything wrong with the object. */
export function validateNew(kind: ResourceKind, object: KubeObject): void {
  const errors = new FieldErrors();
  validateMeta(object, { namespaced: kind.namespaced, name: kind.nameRule }, errors);
  kind.validate(object, errors);
  errors.throwIfAny(kind, object.metadata.name);
}

export function validateChange(kind: ResourceKind, object: KubeObject, current: KubeObject): void {
  const errors = new FieldErrors();
  validateMeta(object, { namespaced: kind.namespaced, name: kind.nameRule }, errors);
  validateMetaUpdate(object, current, errors);
  kind.validate(object, errors);
  kind.validateUpdate(object, current, errors);
  errors.throwIfAny(kind, object.metadata.name);
}

/** The schema has checked the other fields. */
function isObjectMeta(value: unknown): value is ObjectMeta {
  return isJsonObject(value) && typeof value["name"] === "string";
}
