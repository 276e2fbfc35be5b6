// From checked JSON to an object of a kind, and from an object to the one form that is stored.

import { badRequest } from "../decode/body.ts";
import { conform } from "../decode/conform.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject, textAt } from "../kinds/fields.ts";
import {
  validateBuiltInFinalizers,
  validateMeta,
  validateMetaUpdate,
} from "../kinds/object-meta.ts";
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

/** A deep copy in the one order of fields, without fields that the kind does not know. */
export function canonicalCopy(kind: ResourceKind, object: KubeObject): KubeObject {
  kind.canonicalize?.(object);
  const { value } = kind.custom?.conform(object) ?? conform(kind.schema, object);
  return asKubeObject(kind, value);
}

/** Throws one 422 that lists everything wrong with the object. */
export function validateNew(kind: ResourceKind, object: KubeObject): void {
  const errors = new FieldErrors();
  validateMeta(object, { namespaced: kind.namespaced, name: kind.nameRule }, errors);
  if (kind.custom === undefined) {
    validateBuiltInFinalizers(object, errors);
  }
  kind.validate(object, errors);
  kind.validateNew?.(object, errors);
  errors.throwIfAny(subjectOf(kind), object.metadata.name);
}

export function validateChange(
  kind: ResourceKind,
  object: KubeObject,
  current: KubeObject,
  part: "object" | "status" | "finalize",
): void {
  const errors = new FieldErrors();
  validateMetaUpdate(object, current, errors);
  if (kind.custom === undefined && part === "status" && kind.validateStatus !== undefined) {
    kind.validateStatus(object, current, errors);
  } else if (kind.custom === undefined) {
    kind.validateUpdate(object, current, errors);
    validateMeta(object, { namespaced: kind.namespaced, name: kind.nameRule }, errors);
    if (kind.custom === undefined) {
      validateBuiltInFinalizers(object, errors);
    }
    kind.validate(object, errors);
    kind.validateUpdateLast?.(object, current, errors);
  } else {
    validateMeta(object, { namespaced: kind.namespaced, name: kind.nameRule }, errors);
    if (kind.custom === undefined) {
      validateBuiltInFinalizers(object, errors);
    }
    kind.custom.validateChange({ object, current, isStatus: part === "status" }, errors);
  }
  errors.throwIfAny(subjectOf(kind), object.metadata.name);
}

/** The schema has checked the other fields. */
function isObjectMeta(value: unknown): value is ObjectMeta {
  return isJsonObject(value) && typeof value["name"] === "string";
}

/** A built-in kind stored in the form of a core kind is checked, and refused, as that kind. */
function subjectOf(kind: ResourceKind): { readonly group: string; readonly kind: string } {
  const isForeignForm = kind.storedForm !== undefined && kind.custom === undefined;
  return { group: isForeignForm ? "" : kind.group, kind: kind.kind };
}

/** The Status of a successful request without an object in its answer. */
export function successStatus(code: number, kind?: ResourceKind, object?: KubeObject): JsonObject {
  const details =
    kind === undefined || object === undefined
      ? {}
      : {
          details: {
            name: object.metadata.name,
            ...(kind.group === "" ? {} : { group: kind.group }),
            kind: kind.resource,
            uid: object.metadata.uid,
          },
        };
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    ...details,
    ...(code === 200 ? {} : { code }),
  };
}

/** A PUT names its object twice, and both must agree. */
export function checkNameInBody(value: JsonObject, name: string): void {
  const given = textAt(value, "metadata", "name");
  if (given === "") {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (given !== name) {
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    );
  }
}
