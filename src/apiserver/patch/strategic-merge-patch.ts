// Strategic merge patch: a merge patch that merges lists by a key if the schema has one, with the
// directives `$patch`, `$retainKeys`, `$setElementOrder/…` and `$deleteFromPrimitiveList/…`, which
// kubectl sends. Neither argument is changed.

import { formatGoText, formatGoValue, goJsonType, goTypeOf } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";
import {
  type ListMeta,
  listMeta,
  type PatchMeta,
  StrategicPatchError,
  structMeta,
} from "./patch-meta.ts";
import {
  elementType,
  mergeList,
  orderElements,
  withoutDirectives,
} from "./strategic-merge-list.ts";

const orderPrefix = "$setElementOrder";
const deletePrefix = "$deleteFromPrimitiveList";

export function applyStrategicMergePatch(
  typeName: string,
  document: unknown,
  patch: unknown,
): unknown {
  if (!isJsonObject(patch)) {
    throw new StrategicPatchError(
      400,
      `json: cannot unmarshal ${goJsonType(patch)} into Go value of type map[string]interface {}`,
    );
  }
  const original = isJsonObject(document) ? document : {};
  return mergeMap(original, patch, { type: "ref", to: typeName });
}

/** Also merges an element of a list with a merge key. */
function mergeMap(
  original: JsonObject,
  patch: JsonObject,
  meta: PatchMeta | undefined,
): JsonObject {
  if (Object.hasOwn(patch, "$patch")) {
    return replaceOrDelete(patch);
  }
  const { $retainKeys: retained, ...changes } = patch;
  const result = retained === undefined ? { ...original } : retainKeys(original, changes, retained);
  orderLists(result, changes, meta);
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(deletePrefix)) {
      deleteFromList(result, fieldOf(key, deletePrefix), value, meta);
    } else if (value === null) {
      delete result[key];
    } else {
      mergeField(result, key, value, meta);
    }
  }
  return result;
}

function replaceOrDelete(patch: JsonObject): JsonObject {
  const { $patch: directive, ...rest } = patch;
  if (directive === "replace") {
    return rest;
  }
  if (directive === "delete") {
    return {};
  }
  throw new StrategicPatchError(
    500,
    `unknown patch type: ${formatGoText(directive)} in map: ${formatGoValue(patch)}`,
  );
}

/** Keeps only the named keys; the patch may not change others. */
function retainKeys(original: JsonObject, changes: JsonObject, retained: unknown): JsonObject {
  const touched = Object.keys(changes).filter(
    (key) => changes[key] !== null && !key.startsWith(deletePrefix) && !key.startsWith(orderPrefix),
  );
  if (!Array.isArray(retained) || touched.some((key) => !retained.includes(key))) {
    throw new StrategicPatchError(400, "invalid patch format of retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => retained.includes(key)));
}

/** Merges the lists whose order the patch sets, and removes them from the changes. */
function orderLists(result: JsonObject, changes: JsonObject, meta: PatchMeta | undefined): void {
  for (const [key, order] of Object.entries(changes)) {
    if (!key.startsWith(orderPrefix)) {
      continue;
    }
    delete changes[key];
    if (!Array.isArray(order)) {
      throw badType("[]interface {}", order);
    }
    const field = fieldOf(key, orderPrefix);
    const current = listOrAbsent(ownField(result, field));
    const patch = listOrAbsent(ownField(changes, field));
    const list = listMeta(meta, field);
    const ordered = orderElements({ current, patch, order, list, merge: mergeLists });
    if (ordered !== undefined) {
      result[field] = ordered;
      delete changes[field];
    }
  }
}

function listOrAbsent(value: unknown): readonly unknown[] | undefined {
  if (value !== undefined && !Array.isArray(value)) {
    throw badType("[]interface {}", value);
  }
  return value;
}

function mergeLists(
  current: unknown[],
  patch: readonly unknown[],
  list: ListMeta,
): readonly unknown[] {
  return list.strategy === "merge" ? mergeList(current, patch, list, mergeMap) : patch;
}

function mergeField(
  result: JsonObject,
  key: string,
  value: unknown,
  meta: PatchMeta | undefined,
): void {
  const current = ownField(result, key);
  if (isJsonObject(current) && isJsonObject(value)) {
    const inner = structMeta(meta, key);
    const isReplaced = inner.strategy === "replace";
    setField(result, key, isReplaced ? value : mergeMap(current, value, inner.meta));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    setField(result, key, mergeLists([...current], value, listMeta(meta, key)));
  } else {
    setOrDelete(result, key, withoutDirectives(withoutNulls(value)));
  }
}

function setOrDelete(result: JsonObject, key: string, value: unknown): void {
  if (value === undefined) {
    delete result[key];
  } else {
    setField(result, key, value);
  }
}

/** A new value: without null fields, which have nothing to remove; nulls in lists stay. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutNulls);
  }
  if (!isJsonObject(value)) {
    return value;
  }
  const kept = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(kept.map(([key, field]) => [key, withoutNulls(field)]));
}

function deleteFromList(
  result: JsonObject,
  key: string,
  value: unknown,
  meta: PatchMeta | undefined,
): void {
  const current = ownField(result, key);
  if (value === null) {
    delete result[key];
  } else if (Array.isArray(current) && Array.isArray(value)) {
    listMeta(meta, key);
    elementType([current, value]);
    result[key] = current.filter((item: unknown) => !value.includes(item));
  }
}

/** `$setElementOrder/ports` → `ports`. */
function fieldOf(key: string, prefix: string): string {
  if (!key.startsWith(`${prefix}/`)) {
    const what = prefix === orderPrefix ? "setElementOrder list" : "primitive list";
    throw new StrategicPatchError(400, `invalid patch format of ${what}`);
  }
  return key.slice(prefix.length + 1);
}

function badType(expected: string, actual: unknown): StrategicPatchError {
  return new StrategicPatchError(500, `expected a ${expected}, but received a ${goTypeOf(actual)}`);
}
