// How a write leaves `metadata.managedFields`: with what the request's recorder makes of it or,
// where nobody records, as it was.
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../kinds/fields.ts";
import { isJsonObject } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";

/** Part of a backend. */
export interface OwnerRecorder {
  /** The `managedFields` after this write; `current` is undefined for a new object. */
  managedFieldsAfter?(
    object: KubeObject,
    current: KubeObject | undefined,
  ): readonly JsonObject[] | undefined;
}

/** Asked with the object as the client wants it, defaults filled in, nothing carried over yet. */
export function managedFieldsAfter(
  recorder: OwnerRecorder,
  object: KubeObject,
  current: KubeObject | undefined,
): readonly unknown[] | undefined {
  return recorder.managedFieldsAfter === undefined
    ? current?.metadata.managedFields
    : recorder.managedFieldsAfter(object, current);
}

export function setManagedFields(
  object: KubeObject,
  managedFields: readonly unknown[] | undefined,
): void {
  if (managedFields === undefined || managedFields.length === 0) {
    delete object.metadata.managedFields;
  } else {
    object.metadata.managedFields = [...managedFields];
  }
}

/** A write that changes nothing but the times of its owners changes nothing at all. */
export function withoutIdleTimes(next: KubeObject, current: KubeObject): KubeObject {
  const after = next.metadata.managedFields;
  const before = current.metadata.managedFields;
  if (after === undefined || before === undefined || after.length !== before.length) return next;
  const isTimeChanged = after.some((entry, index) => timeOf(entry) !== timeOf(before[index]));
  if (!isTimeChanged || !isDeepStrictEqual(after.map(timeless), before.map(timeless))) return next;
  const old: KubeObject = { ...next, metadata: { ...next.metadata, managedFields: before } };
  return isDeepStrictEqual(old, current) ? old : next;
}

function timeOf(entry: unknown): unknown {
  return isJsonObject(entry) ? entry["time"] : undefined;
}

function timeless(entry: unknown): unknown {
  return isJsonObject(entry) ? { ...entry, time: undefined } : entry;
}
