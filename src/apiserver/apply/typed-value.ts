// Operations on a value with its type: the identity of list items, the field set of a value,
// merging two values, and removing fields. A missing value is undefined, an explicit null is null.
// No operation changes its operands; results may share parts of them.
import { isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import { fieldElement, keyElement, type PathElement, valueElement } from "./path-element.ts";
import {
  childType,
  type ListType,
  type MapType,
  resolveShape,
  shapeOf,
  type ValueType,
} from "./value-type.ts";

/** A list item without an identity. The message does not name the path. */
export class ListItemError extends Error {
  override readonly name = "ListItemError";
}

/** The identity of an item in a list that is not atomic: its keys, or its value in a set. */
export function itemElement(list: ListType, item: unknown): PathElement {
  return list.keys.length > 0 ? keyedItem(list, item) : setItem(item);
}

function keyedItem(list: ListType, item: unknown): PathElement {
  if (item === null || item === undefined) {
    throw new ListItemError("associative list with keys may not have a null element");
  }
  if (!isJsonObject(item)) {
    throw new ListItemError("associative list with keys may not have non-map elements");
  }
  const keys: [string, unknown][] = [];
  for (const name of list.keys) {
    const given = item[name];
    const value = given === undefined ? list.element.map?.field(name)?.keyDefault : given;
    // A key field without value and default is not part of the identity.
    if (value !== undefined) keys.push([name, value]);
  }
  if (keys.length === 0) {
    const names = list.keys.map((name) => JSON.stringify(name)).join(" ");
    throw new ListItemError(
      `associative list with keys has an element that omits all key fields [${names}] ` +
        "(and doesn't have default values for any key fields)",
    );
  }
  return keyElement(keys);
}

function setItem(item: unknown): PathElement {
  if (isJsonObject(item)) {
    throw new ListItemError("associative list without keys has an element that's a map type");
  }
  if (Array.isArray(item)) {
    throw new ListItemError("not supported: associative list with lists as elements");
  }
  if (item === null || item === undefined) {
    throw new ListItemError("associative list without keys has an element that's an explicit null");
  }
  return valueElement(item);
}

/**
 * The fields of a valid value, which a manager that applies it owns. Structs are not in the set,
 * only their fields; keys of maps and items of lists are, together with the fields below them.
 */
export function fieldSetOf(type: ValueType, value: unknown): FieldSet {
  const set = new FieldSet();
  collectFields(type, value, [], set);
  return set;
}

function collectFields(type: ValueType, value: unknown, path: PathElement[], set: FieldSet): void {
  const shape = resolveShape(type, shapeOf(type, value));
  if (shape === "scalar" || type[shape]?.isAtomic === true) {
    set.insert(path);
  } else if (shape === "map" && type.map !== undefined) {
    collectMap(type.map, value, path, set);
  } else if (type.list !== undefined) {
    collectList(type.list, value, path, set);
  }
}

function collectMap(type: MapType, value: unknown, path: PathElement[], set: FieldSet): void {
  if (!isJsonObject(value)) return;
  for (const key of Object.keys(value)) {
    const item = value[key];
    path.push(fieldElement(key));
    collectFields(childType(type, key), item, path, set);
    const isEmptyMap = isJsonObject(item) && Object.keys(item).length === 0;
    if (item === null || isEmptyMap || type.field(key) === undefined) set.insert(path);
    path.pop();
  }
}

function collectList(type: ListType, value: unknown, path: PathElement[], set: FieldSet): void {
  if (!Array.isArray(value)) return;
  const elements = value.map((item) => itemElement(type, item));
  const times = new Map<PathElement, number>();
  for (const element of elements) times.set(element, (times.get(element) ?? 0) + 1);
  for (const [index, element] of elements.entries()) {
    path.push(element);
    // Duplicate items are in the set as one item, without their fields.
    if (times.get(element) === 1) collectFields(type.element, value[index], path, set);
    set.insert(path);
    path.pop();
  }
}

/**
 * The live value with the applied one merged into it. Nothing is removed: leaves are replaced,
 * maps are merged by key, list items by their identity. Items of both lists come in the order of
 * the applied list; items of the live list only keep their places.
 */
export function mergeValues(type: ValueType, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  const shape = resolveShape(type, shapeOf(type, applied));
  if (shape === "map" && type.map !== undefined) return mergeMaps(type.map, live, applied);
  if (shape === "list" && type.list !== undefined) return mergeLists(type.list, live, applied);
  return applied;
}

function mergeMaps(type: MapType, live: unknown, applied: unknown): unknown {
  const left = isJsonObject(live) ? live : {};
  const right = isJsonObject(applied) ? applied : {};
  const isEmpty = Object.keys(left).length === 0 && Object.keys(right).length === 0;
  if (type.isAtomic || isEmpty) return applied;
  const result: JsonObject = { ...left };
  for (const key of Object.keys(right)) {
    setField(result, key, mergeValues(childType(type, key), ownField(left, key), right[key]));
  }
  return result;
}

function mergeLists(type: ListType, live: unknown, applied: unknown): unknown {
  const left: readonly unknown[] = Array.isArray(live) ? live : [];
  const right: readonly unknown[] = Array.isArray(applied) ? applied : [];
  if (type.isAtomic || (left.length === 0 && right.length === 0)) return applied;
  return new ListMerge(type, left, right).run();
}

class ListMerge {
  readonly #type: ListType;
  readonly #live: readonly unknown[];
  readonly #applied: readonly unknown[];
  readonly #liveElements: readonly PathElement[];
  readonly #appliedElements: readonly PathElement[];
  /** Null for duplicate items of the live list. */
  readonly #liveItems = new Map<PathElement, unknown>();
  readonly #appliedItems: ReadonlyMap<PathElement, unknown>;

  constructor(type: ListType, live: readonly unknown[], applied: readonly unknown[]) {
    this.#type = type;
    this.#live = live;
    this.#applied = applied;
    this.#liveElements = live.map((item) => itemElement(type, item));
    this.#appliedElements = applied.map((item) => itemElement(type, item));
    for (const [index, element] of this.#liveElements.entries()) {
      this.#liveItems.set(element, this.#liveItems.has(element) ? null : live[index]);
    }
    this.#appliedItems = new Map(
      this.#appliedElements.map((element, index) => [element, applied[index]]),
    );
  }

  run(): unknown[] {
    const merged: unknown[] = [];
    const done = new Set<PathElement>();
    const shared = this.#appliedElements.filter((element) => this.#liveItems.has(element));
    let [left, right, next] = [0, 0, 0];
    while (left < this.#live.length || right < this.#applied.length) {
      const mine = this.#liveElements[left];
      const theirs = this.#appliedElements[right];
      if (mine !== undefined && mine === theirs) {
        merged.push(this.#mergedItem(theirs));
        done.add(theirs);
        left++;
        right++;
        next++;
        continue;
      }
      const isShared = mine !== undefined && this.#appliedItems.has(mine);
      const hasNext = next < shared.length;
      if (isShared && theirs !== undefined && hasNext && shared[next] !== mine) {
        // The item is added later, at its place in the applied list.
        left++;
        continue;
      }
      if (mine !== undefined && !isShared) {
        merged.push(this.#live[left]);
        left++;
        continue;
      }
      if (mine !== undefined && done.has(mine)) left++;
      if (theirs !== undefined) {
        merged.push(this.#mergedItem(theirs));
        done.add(theirs);
        right++;
      }
    }
    return merged;
  }

  #mergedItem(element: PathElement): unknown {
    const live = this.#liveItems.get(element);
    return mergeValues(this.#type.element, live, this.#appliedItems.get(element));
  }
}

/**
 * The value without the given fields; null if nothing is left. A struct, map or list that loses
 * all of its fields stays as an empty one, unless it is in the set itself.
 */
export function removeItems(type: ValueType, value: unknown, fields: FieldSet): unknown {
  const shape = resolveShape(type, shapeOf(type, value));
  if (shape === "scalar") return value;
  const isAtomic = type[shape]?.isAtomic === true;
  if (isAtomic) return null;
  return shape === "map" ? removeFromMap(type, value, fields) : removeFromList(type, value, fields);
}

function removeFromMap(type: ValueType, value: unknown, fields: FieldSet): unknown {
  if (type.map === undefined || !isJsonObject(value)) return null;
  const result: JsonObject = {};
  let isMatched = false;
  for (const key of Object.keys(value)) {
    const element = fieldElement(key);
    if (fields.members.has(element)) continue;
    const below = fields.children.get(element);
    isMatched ||= below !== undefined;
    const inner = childType(type.map, key);
    setField(result, key, below === undefined ? value[key] : removeBelow(inner, value[key], below));
  }
  return Object.keys(result).length > 0 || isMatched ? result : null;
}

function removeFromList(type: ValueType, value: unknown, fields: FieldSet): unknown {
  if (type.list === undefined || !Array.isArray(value)) return null;
  const result: unknown[] = [];
  let isMatched = false;
  for (const item of value) {
    const element = itemElement(type.list, item);
    if (fields.members.has(element)) continue;
    const below = fields.children.get(element);
    isMatched ||= below !== undefined;
    result.push(below === undefined ? item : removeBelow(type.list.element, item, below));
  }
  return result.length > 0 || isMatched ? result : null;
}

function removeBelow(type: ValueType, value: unknown, fields: FieldSet): unknown {
  const rest = removeItems(type, value, fields);
  if (rest !== null) return rest;
  if (isJsonObject(value)) return {};
  return Array.isArray(value) ? [] : null;
}
