// Lists in a strategic merge patch. Scalars are merged by equality, objects by their merge key. The
// result has the elements of the patch in the patch's order, and all others in the server's order.

import { formatGoText, formatGoValue, goTypeOf } from "../decode/go-format.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { type ListMeta, type PatchMeta, StrategicPatchError } from "./patch-meta.ts";

type MergeMap = (original: JsonObject, patch: JsonObject, meta: PatchMeta) => JsonObject;

/**
 * Deletions and additions also change `current`, and the later sort uses it: the real server works
 * on Go slices that share an array.
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
      // An append in Go writes into the shared array while it has room.
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

/** All elements must have one type, and must not be lists. */
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

/** Applies the elements with `$patch` to the list and removes them from the patch. */
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
 * Moves the later elements up over each deleted one and returns the new length. Elements beyond it
 * stay, as in a Go slice whose array another slice shares.
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

/** `$setElementOrder/…`: the order of the elements that the client knows. */
export interface OrderedPatch {
  /** Undefined if the object has no such list. */
  readonly current: readonly unknown[] | undefined;
  /** Undefined if the patch does not change the list. */
  readonly patch: readonly unknown[] | undefined;
  readonly order: readonly unknown[];
  readonly list: ListMeta;
  readonly merge: (
    current: unknown[],
    patch: readonly unknown[],
    list: ListMeta,
  ) => readonly unknown[];
}

/** The merged list in the given order; undefined if neither side has one. */
export function orderElements(given: OrderedPatch): readonly unknown[] | undefined {
  const { current, patch, order, list } = given;
  checkOrder(patch ?? [], order, list.mergeKey);
  const server = current === undefined ? undefined : [...current];
  const merged = mergedList({ ...given, current: server });
  if (merged === undefined) {
    return undefined;
  }
  elementType([current ?? [], patch ?? []]);
  return inServerOrder({ merged, order, current: server ?? [], mergeKey: list.mergeKey });
}

function mergedList({
  current,
  patch,
  list,
  merge,
}: Omit<OrderedPatch, "current"> & { readonly current: unknown[] | undefined }):
  | readonly unknown[]
  | undefined {
  if (current === undefined) {
    return patch?.map(withoutDirectives).filter((item) => item !== undefined);
  }
  return patch === undefined ? current : merge(current, patch, list);
}

/** The order must list the elements of the patch, in the same order. */
function checkOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (order.length === 0 || patch.length === 0) {
    return;
  }
  if (mergeKey !== "") {
    patch.forEach(expectObject);
  }
  const identity = (item: unknown) => (mergeKey === "" ? item : keyOf(item, mergeKey));
  const wanted = patch.filter((item) => !isJsonObject(item) || !Object.hasOwn(item, "$patch"));
  let found = 0;
  for (const item of order) {
    if (found < wanted.length && identity(wanted[found]) === identity(item)) {
      found++;
    }
  }
  if (found < wanted.length) {
    throw new StrategicPatchError(
      500,
      `The order in patch list:\n${formatGoValue(patch)}\n doesn't match $setElementOrder list:\n` +
        `${formatGoValue(order)}\n`,
    );
  }
}

interface Ordering {
  readonly merged: readonly unknown[];
  /** The elements of the patch, in their order. */
  readonly order: readonly unknown[];
  /** The list before the patch, with the order of all other elements. */
  readonly current: readonly unknown[];
  /** "" for scalars. */
  readonly mergeKey: string;
}

function inServerOrder({ merged, order, current, mergeKey }: Ordering): unknown[] {
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
 * Insertion sort; an element without a rank moves before all elements in front of it. The order is
 * not consistent, but it is the real server's.
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

function expectObject(item: unknown): JsonObject {
  if (!isJsonObject(item)) {
    throw new StrategicPatchError(
      500,
      `expected a map[string]interface {}, but received a ${goTypeOf(item)}`,
    );
  }
  return item;
}

function keyOf(given: unknown, mergeKey: string): unknown {
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

/** A new value: without objects with a directive, which have nothing to act on. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives).filter((item) => item !== undefined);
  }
  if (!isJsonObject(value)) {
    return value;
  }
  if (Object.hasOwn(value, "$patch")) {
    return undefined;
  }
  const fields = Object.entries(value).map(([key, field]) => [key, withoutDirectives(field)]);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}
