// The fields that an object mentions: what whoever applies it comes to own. Structs are not among
// them, only what they hold; keys of maps and items of lists are, together with what they hold.
import { isJsonObject } from "../kinds/fields.ts";
import { FieldSet } from "./field-set.ts";
import { itemElement } from "./list-items.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import {
  childType,
  type ListType,
  type MapType,
  resolveShape,
  shapeOf,
  type ValueType,
} from "./value-type.ts";

/** The value must have been found to fit its type. */
export function ownedFields(type: ValueType, value: unknown): FieldSet {
  const set = new FieldSet();
  visit(type, value, [], set);
  return set;
}

function visit(type: ValueType, value: unknown, path: PathElement[], set: FieldSet): void {
  const shape = resolveShape(type, shapeOf(type, value));
  if (shape === "scalar" || type[shape]?.isAtomic === true) {
    set.insert(path);
  } else if (shape === "map" && type.map !== undefined) {
    visitMap(type.map, value, path, set);
  } else if (type.list !== undefined) {
    visitList(type.list, value, path, set);
  }
}

function visitMap(type: MapType, value: unknown, path: PathElement[], set: FieldSet): void {
  if (!isJsonObject(value)) return;
  for (const key of Object.keys(value)) {
    const item = value[key];
    path.push(fieldElement(key));
    visit(childType(type, key), item, path, set);
    const isEmptyMap = isJsonObject(item) && Object.keys(item).length === 0;
    if (item === null || isEmptyMap || type.field(key) === undefined) set.insert(path);
    path.pop();
  }
}

function visitList(type: ListType, value: unknown, path: PathElement[], set: FieldSet): void {
  if (!Array.isArray(value)) return;
  const elements = value.map((item) => itemElement(type, item));
  const times = new Map<PathElement, number>();
  for (const element of elements) times.set(element, (times.get(element) ?? 0) + 1);
  for (const [index, element] of elements.entries()) {
    path.push(element);
    // Items that cannot be told apart are owned together, without what they hold.
    if (times.get(element) === 1) visit(type.element, value[index], path, set);
    set.insert(path);
    path.pop();
  }
}
