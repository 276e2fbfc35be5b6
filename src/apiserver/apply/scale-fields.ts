// Ownership through the scale subresource: a Scale has one field of its object's, the number of
// replicas. Its owners are those of that field, and what they do to the Scale happens to the field.

import type { JsonObject } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import { FieldSet } from "./field-set.ts";
import { decodeManagedFields, encodeManagedFields, type ManagedFields } from "./managed-fields.ts";
import { fieldElement, type PathElement } from "./path-element.ts";

const scaleVersion = "autoscaling/v1";
const scalePath = [fieldElement("spec"), fieldElement("replicas")];

/** The `managedFields` of the Scale of an object with these. */
export function scaleManagedFields(
  kind: ResourceKind,
  parent: readonly unknown[] | undefined,
): JsonObject[] | undefined {
  const path = replicasPath(kind);
  const scale: ManagedFields = new Map();
  for (const [key, owner] of decodeManagedFields(parent)) {
    if (isKnownVersion(kind, owner.apiVersion) && owner.fields.has(path)) {
      scale.set(key, { ...owner, apiVersion: scaleVersion, fields: FieldSet.of(scalePath) });
    }
  }
  return encodeManagedFields(scale);
}

/** The `managedFields` of the object after its Scale has come to have these. */
export function parentManagedFields(
  kind: ResourceKind,
  parent: readonly unknown[] | undefined,
  scale: readonly unknown[] | undefined,
): JsonObject[] | undefined {
  const path = replicasPath(kind);
  const before = decodeManagedFields(parent);
  const after = decodeManagedFields(scale);
  const result: ManagedFields = new Map();
  for (const [key, owner] of before) {
    if (!isKnownVersion(kind, owner.apiVersion)) continue;
    if (!owner.fields.has(path)) {
      result.set(key, owner);
    } else if (after.delete(key)) {
      result.set(key, owner);
    } else {
      const fields = owner.fields.difference(FieldSet.of(path));
      if (!fields.isEmpty) result.set(key, { ...owner, fields });
    }
  }
  for (const [key, owner] of after) {
    if (owner.fields.has(scalePath)) {
      const fields = FieldSet.of(path);
      // The real server looks the time up among the object's owners, and so finds none for new ones.
      const time = before.get(key)?.time;
      result.set(key, { ...owner, apiVersion: groupVersion(kind), time, fields });
    }
  }
  return encodeManagedFields(result);
}

function isKnownVersion(kind: ResourceKind, apiVersion: string): boolean {
  return kind.custom !== undefined || apiVersion === groupVersion(kind);
}

function replicasPath(kind: ResourceKind): PathElement[] {
  const steps = kind.custom?.scale?.specReplicas ?? ["spec", "replicas"];
  return steps.map(fieldElement);
}
