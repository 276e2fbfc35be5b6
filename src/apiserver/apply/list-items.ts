// What tells the items of a list apart, where they have owners of their own: the keys of a map
// list, the values of a set.
import { isJsonObject } from "../kinds/fields.ts";
import { keyElement, type PathElement, valueElement } from "./path-element.ts";
import type { ListType } from "./value-type.ts";

/** Thrown for an item that cannot be told apart; the message lacks the place. */
export class ListItemError extends Error {
  override readonly name = "ListItemError";
}

/** Only for lists that are not atomic. */
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
    // A key without value and default is no part of what tells the item apart.
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
