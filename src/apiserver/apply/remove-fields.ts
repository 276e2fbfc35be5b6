// Takes fields out of an object: those that an applier has stopped to mention. A struct, map or
// list that loses everything stays, empty; one that is itself to be removed goes as a whole.
import { isJsonObject, type JsonObject, setField } from "../kinds/fields.ts";
import type { FieldSet } from "./field-set.ts";
import { itemElement } from "./list-items.ts";
import { fieldElement } from "./path-element.ts";
import { childType, resolveShape, shapeOf, type ValueType } from "./value-type.ts";

/** Null when nothing is left of it. The value itself is not changed. */
export function removeFields(type: ValueType, value: unknown, fields: FieldSet): unknown {
  const shape = resolveShape(type, shapeOf(type, value));
  if (shape === "scalar") return value;
  const isAtomic = type[shape]?.isAtomic === true;
  if (isAtomic) return null;
  return shape === "map" ? removeKeys(type, value, fields) : removeItems(type, value, fields);
}

function removeKeys(type: ValueType, value: unknown, fields: FieldSet): unknown {
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

function removeItems(type: ValueType, value: unknown, fields: FieldSet): unknown {
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
  const rest = removeFields(type, value, fields);
  if (rest !== null) return rest;
  if (isJsonObject(value)) return {};
  return Array.isArray(value) ? [] : null;
}
