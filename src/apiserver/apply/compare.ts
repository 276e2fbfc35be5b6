// The difference of two values of one type, as three sets of fields. A field is in at most one of
// them. A new or removed struct, map or list is in its set together with all fields below it.
import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { itemElement } from "./typed-value.ts";
import {
  childType,
  type ListType,
  type MapType,
  resolveShape,
  type Shape,
  shapeOf,
  type ValueType,
} from "./value-type.ts";

export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** Both values must be valid. A missing value is undefined, an explicit null is null. */
export function compareValues(type: ValueType, before: unknown, after: unknown): Comparison {
  const comparing = new Comparing();
  comparing.compare(type, before, after);
  return comparing;
}

/** The comparison without the given fields and all fields below them. */
export function excludeFields(comparison: Comparison, fields: FieldSet): Comparison {
  if (fields.isEmpty) return comparison;
  return {
    removed: comparison.removed.recursiveDifference(fields),
    modified: comparison.modified.recursiveDifference(fields),
    added: comparison.added.recursiveDifference(fields),
  };
}

class Comparing implements Comparison {
  readonly removed = new FieldSet();
  readonly modified = new FieldSet();
  readonly added = new FieldSet();
  /** The path to the values that are being compared. */
  readonly #path: PathElement[] = [];

  compare(type: ValueType, before: unknown, after: unknown): void {
    const from = shapeOf(type, before);
    const to = shapeOf(type, after);
    if (after !== undefined && before !== undefined && from !== to) {
      this.#visit(type, from, before, after);
    }
    const isLeaf = this.#visit(type, after === undefined ? from : to, before, after);
    if (isLeaf) return;
    if (before === undefined) {
      this.added.insert(this.#path);
    } else if (after === undefined) {
      this.removed.insert(this.#path);
    }
  }

  /** True if the values were compared as a whole. */
  #visit(type: ValueType, shape: Shape, before: unknown, after: unknown): boolean {
    switch (resolveShape(type, shape)) {
      case "map":
        return type.map === undefined || this.#visitMap(type.map, before, after);
      case "list":
        return type.list === undefined || this.#visitList(type.list, before, after);
      case "scalar":
        return this.#leaf(before, after);
    }
  }

  #leaf(before: unknown, after: unknown): true {
    if (before === undefined) {
      this.added.insert(this.#path);
    } else if (after === undefined) {
      this.removed.insert(this.#path);
    } else if (before !== after && !isDeepStrictEqual(before, after)) {
      this.modified.insert(this.#path);
    }
    return true;
  }

  #visitMap(type: MapType, before: unknown, after: unknown): boolean {
    const from = isJsonObject(before) ? before : {};
    const to = isJsonObject(after) ? after : {};
    const keys = Object.keys(from);
    const newKeys = Object.keys(to);
    if (type.isAtomic || (keys.length === 0 && newKeys.length === 0)) {
      return this.#leaf(before, after);
    }
    for (const key of keys) {
      const latest = Object.hasOwn(to, key) ? to[key] : undefined;
      this.#compareChild(fieldElement(key), childType(type, key), from[key], latest);
    }
    for (const key of newKeys) {
      if (!Object.hasOwn(from, key)) {
        this.#compareChild(fieldElement(key), childType(type, key), undefined, to[key]);
      }
    }
    return false;
  }

  #visitList(type: ListType, before: unknown, after: unknown): boolean {
    const from: readonly unknown[] = Array.isArray(before) ? before : [];
    const to: readonly unknown[] = Array.isArray(after) ? after : [];
    if (type.isAtomic || (from.length === 0 && to.length === 0)) {
      return this.#leaf(before, after);
    }
    const old = itemsByElement(type, from);
    const latest = itemsByElement(type, to);
    for (const element of new Set([...old.keys(), ...latest.keys()])) {
      this.#compareItems(type, element, old.get(element) ?? [], latest.get(element) ?? []);
    }
    return false;
  }

  /** Duplicate items are compared as one value. */
  #compareItems(
    { element: type }: ListType,
    element: PathElement,
    before: readonly unknown[],
    after: readonly unknown[],
  ): void {
    if (before.length <= 1 && after.length <= 1) {
      this.#compareChild(element, type, before[0], after[0]);
    } else if (before.length >= 2 && after.length >= 2) {
      if (!isDeepStrictEqual(before, after)) this.modified.insert([...this.#path, element]);
    } else if (before.length >= 2) {
      if (after.length > 0) this.#compareChild(element, type, undefined, after[0]);
      this.removed.insert([...this.#path, element]);
    } else {
      if (before.length > 0) this.#compareChild(element, type, before[0], undefined);
      this.added.insert([...this.#path, element]);
    }
  }

  #compareChild(element: PathElement, type: ValueType, before: unknown, after: unknown): void {
    if (before === undefined && after === undefined) return;
    this.#path.push(element);
    this.compare(type, before, after);
    this.#path.pop();
  }
}

function itemsByElement(
  type: ListType,
  items: readonly unknown[],
): ReadonlyMap<PathElement, readonly unknown[]> {
  const byElement = new Map<PathElement, unknown[]>();
  for (const item of items) {
    const element = itemElement(type, item);
    const same = byElement.get(element);
    if (same === undefined) byElement.set(element, [item]);
    else same.push(item);
  }
  return byElement;
}
