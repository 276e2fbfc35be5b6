// Strategic merge patch: a merge patch that knows, from the schema, which lists are merged by a key
// instead of replaced, and understands the `$patch`, `$retainKeys`, `$setElementOrder/…` and
// `$deleteFromPrimitiveList/…` directives that kubectl writes. Neither argument is changed.

import { formatGoText, formatGoValue, goTypeOf } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";
import { withoutDirectives, withoutNulls } from "./patch-directives.ts";
import { type ListMeta, listMeta, type PatchMeta, structMeta } from "./patch-meta.ts";
import { orderElements } from "./set-element-order.ts";
import { elementType, mergeList } from "./strategic-merge-list.ts";
import { StrategicPatchError } from "./strategic-patch-error.ts";

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
      `json: cannot unmarshal ${jsonTypeOf(patch)} into Go value of type map[string]interface {}`,
    );
  }
  const original = isJsonObject(document) ? document : {};
  return mergeMap(original, patch, { type: "ref", to: typeName });
}

/** Also merges one element of a list that is merged by a key. */
export function mergeMap(
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

/** Only the named keys stay, and the patch may touch no other. */
function retainKeys(original: JsonObject, changes: JsonObject, retained: unknown): JsonObject {
  const touched = Object.keys(changes).filter(
    (key) => changes[key] !== null && !key.startsWith(deletePrefix) && !key.startsWith(orderPrefix),
  );
  if (!Array.isArray(retained) || touched.some((key) => !retained.includes(key))) {
    throw new StrategicPatchError(400, "invalid patch format of retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => retained.includes(key)));
}

/** Merges the lists whose order the patch sets, and takes them out of what is left to merge. */
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

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) {
    return "array";
  }
  return typeof value === "boolean" ? "bool" : typeof value;
}
