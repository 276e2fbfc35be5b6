// How a strategic merge patch merges two lists: plain values by equality, objects by their merge
// key. The order that comes out is the server's own order with the patch's elements in theirs.

import { formatGoText, formatGoValue, goTypeOf } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ListMeta, PatchMeta } from "./patch-meta.ts";
import { StrategicPatchError } from "./strategic-patch-error.ts";

type MergeMap = (original: JsonObject, patch: JsonObject, meta: PatchMeta) => JsonObject;

/**
 * Deleted and added elements leave traces in `current`, by which later sorting goes: the real
 * server works on Go slices that share an array.
 */
export function mergeList(
  current: unknown[],
  patch: readonly unknown[],
  list: ListMeta,
  mergeMap: MergeMap,
): readonly unknown[] {
  if (current.length === 0 && patch.length === 0) {
    return current;
  }
  if (elementType([current, patch]) !== "map[string]interface {}") {
    const merged = [...new Set([...current, ...patch])];
    return inServerOrder({ merged, order: patch, current, mergeKey: "" });
  }
  const { mergeKey } = list;
  if (mergeKey === "") {
    throw new StrategicPatchError(500, "cannot merge lists without merge key for struct");
  }
  const special = applyDirectives(current, objectsOf(patch), mergeKey);
  const merged = [...special.current];
  const { length } = current;
  for (const item of special.patch) {
    const index = merged.findIndex((other) => other[mergeKey] === keyOf(item, mergeKey));
    const existing = merged[index];
    if (existing === undefined) {
      // An append in Go writes into the shared array as long as that has room.
      if (merged.length < length && !special.isReplaced) {
        current[merged.length] = item;
      }
      merged.push(item);
    } else {
      merged[index] = mergeMap(existing, item, list.meta);
    }
  }
  return inServerOrder({ merged, order: special.patch, current: special.current, mergeKey });
}

/** All elements of all lists must be of one type, and not lists. */
export function elementType(lists: readonly (readonly unknown[])[]): string {
  const types = new Set(lists.flat(1).map(goTypeOf));
  const [first] = types;
  if (first === undefined) {
    throw new StrategicPatchError(500, "no elements in any of the given slices");
  }
  if (first === "[]interface {}") {
    throw new StrategicPatchError(422, "lists of lists are not supported");
  }
  if (types.size > 1) {
    throw new StrategicPatchError(
      500,
      `list element types are not identical: ${formatGoValue(lists)}`,
    );
  }
  return first;
}

interface DirectedPatch {
  readonly current: readonly JsonObject[];
  readonly patch: readonly JsonObject[];
  /** The patch is the whole list. */
  readonly isReplaced: boolean;
}

/** Takes elements with `$patch` out of the patch, having done to the list what they say. */
function applyDirectives(
  current: unknown[],
  patch: readonly JsonObject[],
  mergeKey: string,
): DirectedPatch {
  let length = current.length;
  let isReplaced = false;
  const plain = patch.filter((item) => !Object.hasOwn(item, "$patch"));
  for (const item of patch.filter((one) => Object.hasOwn(one, "$patch"))) {
    const directive = item["$patch"];
    if (directive === "delete") {
      const key = keyOf(item, mergeKey);
      length = deleteInPlace(current, length, (other) => other[mergeKey] === key);
    } else if (directive === "replace") {
      isReplaced = true;
    } else if (directive === "merge") {
      throw new StrategicPatchError(500, "merging lists cannot yet be specified in the patch");
    } else {
      throw new StrategicPatchError(
        500,
        `unknown patch type: ${formatGoText(directive)} in map: ${formatGoValue(item)}`,
      );
    }
  }
  return isReplaced
    ? { current: plain, patch: [], isReplaced }
    : { current: objectsOf(current.slice(0, length)), patch: plain, isReplaced };
}

/**
 * Moves the later elements up over a deleted one, and gives the new length; what stands beyond it
 * stays. So does a Go slice whose elements are deleted while another slice shares them.
 */
function deleteInPlace(
  list: unknown[],
  length: number,
  isDeleted: (item: JsonObject) => boolean,
): number {
  let kept = length;
  for (let index = 0; index < kept; ) {
    const item = list[index];
    if (isJsonObject(item) && isDeleted(item)) {
      list.copyWithin(index, index + 1, kept);
      kept--;
    } else {
      index++;
    }
  }
  return kept;
}

export interface Ordering {
  readonly merged: readonly unknown[];
  /** Elements named here come in this order. */
  readonly order: readonly unknown[];
  /** The list before the patch, whose order the others keep. */
  readonly current: readonly unknown[];
  /** "" for plain values. */
  readonly mergeKey: string;
}

export function inServerOrder({ merged, order, current, mergeKey }: Ordering): unknown[] {
  const identity = (item: unknown) => (mergeKey === "" ? item : keyOf(item, mergeKey));
  const ranked = order.map(identity);
  const before = current.map(identity);
  const ofPatch = merged.filter((item) => ranked.includes(identity(item)));
  const ofServer = merged.filter((item) => !ranked.includes(identity(item)));
  const left = sortStably(ofServer, (item) => before.indexOf(identity(item)));
  const right = sortStably(ofPatch, (item) => ranked.indexOf(identity(item)));
  const result: unknown[] = [];
  while (left.length > 0 && right.length > 0) {
    const leftRank = before.indexOf(identity(left[0]));
    const rightRank = before.indexOf(identity(right[0]));
    const isLeftFirst = leftRank >= 0 && rightRank >= 0 && leftRank < rightRank;
    result.push((isLeftFirst ? left : right).shift());
  }
  return [...result, ...left, ...right];
}

/**
 * By insertion, with elements of no rank before whatever stands before them: not a consistent
 * order, and what clients get from the real server.
 */
function sortStably(items: readonly unknown[], rank: (item: unknown) => number): unknown[] {
  const sorted: unknown[] = [];
  for (const item of items) {
    let place = sorted.length;
    while (place > 0 && comesBefore(rank(item), rank(sorted[place - 1]))) {
      place--;
    }
    sorted.splice(place, 0, item);
  }
  return sorted;
}

function comesBefore(left: number, right: number): boolean {
  return left < 0 || right < 0 || left < right;
}

export function expectObject(item: unknown): JsonObject {
  if (!isJsonObject(item)) {
    throw new StrategicPatchError(
      500,
      `expected a map[string]interface {}, but received a ${goTypeOf(item)}`,
    );
  }
  return item;
}

export function keyOf(given: unknown, mergeKey: string): unknown {
  const item = expectObject(given);
  if (!Object.hasOwn(item, mergeKey)) {
    throw new StrategicPatchError(
      500,
      `map: ${formatGoValue(item)} does not contain declared merge key: ${mergeKey}`,
    );
  }
  return item[mergeKey];
}

function objectsOf(list: readonly unknown[]): readonly JsonObject[] {
  return list.filter(isJsonObject);
}
