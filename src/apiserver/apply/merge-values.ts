// Lays what a client applies over the live object. Nothing is removed here: leaves are replaced,
// maps united, list items matched by what tells them apart. Shared items come in the order of the
// applied list, if the list mentions them at all; the others keep their places.
import { isJsonObject, type JsonObject, ownField, setField } from "../kinds/fields.ts";
import { itemElement } from "./list-items.ts";
import type { PathElement } from "./path-element.ts";
import {
  childType,
  type ListType,
  type MapType,
  resolveShape,
  shapeOf,
  type ValueType,
} from "./value-type.ts";

/** Undefined is a value that is not there. Neither value is changed; the result may share both. */
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
  /** Null for items of the live list that cannot be told apart. */
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
        // Its turn comes with the applied list.
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
