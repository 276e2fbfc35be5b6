// Equality and order of values. Numbers are compared across their types; `set` and `map` lists of
// Kubernetes are equal in any order.
import {
  Duration,
  ListValue,
  MapValue,
  ObjectValue,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

export function equalValues(a: Value, b: Value): boolean {
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== undefined || y !== undefined) {
    // Loosely equal on purpose: a bigint and a number of the same amount are the same number.
    return x !== undefined && y !== undefined && compareNumbers(x, y) === 0;
  }
  if (a === b) return true;
  if (a instanceof ListValue) return b instanceof ListValue && equalLists(a, b);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(a, b);
  if (a instanceof ObjectValue) return b instanceof ObjectValue && equalObjects(a, b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof OptionalValue) return b instanceof OptionalValue && equalOptionals(a, b);
  return a instanceof OpaqueValue && b instanceof OpaqueValue && a.equals(b);
}

/** Negative, 0 or positive; undefined when the two have no order. */
export function compareValues(a: Value, b: Value): number | undefined {
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== undefined && y !== undefined) return compareNumbers(x, y);
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareNumbers(a.nanos, b.nanos);
  if (a instanceof Duration && b instanceof Duration) return compareNumbers(a.nanos, b.nanos);
  return undefined;
}

function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : undefined;
}

function compareNumbers(a: bigint | number, b: bigint | number): number | undefined {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number.isNaN(a) || Number.isNaN(b) ? undefined : 0;
}

/** By code points, as Go compares the bytes of UTF-8. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

function equalLists(a: ListValue, b: ListValue): boolean {
  if (a.items.length !== b.items.length) return false;
  const { merge } = a;
  if (merge === undefined) {
    return a.items.every((item, index) => equalValues(item, b.items[index] ?? null));
  }
  if (merge.type === "set") {
    return a.items.every((item) => b.items.some((other) => equalValues(item, other)));
  }
  return a.items.every((item) =>
    b.items.some((other) => sameKeys(item, other, merge.keys) && equalValues(item, other)),
  );
}

export function sameKeys(a: Value, b: Value, keys: readonly string[]): boolean {
  if (!(a instanceof ObjectValue) || !(b instanceof ObjectValue)) return false;
  return keys.every((key) => equalValues(a.fields.get(key) ?? null, b.fields.get(key) ?? null));
}

function equalMaps(a: MapValue, b: MapValue): boolean {
  if (a.entries.size !== b.entries.size) return false;
  for (const [text, [, value]] of a.entries) {
    const other = b.entries.get(text);
    if (other === undefined || !equalValues(value, other[1])) return false;
  }
  return true;
}

function equalObjects(a: ObjectValue, b: ObjectValue): boolean {
  if (a.fields.size !== b.fields.size) return false;
  for (const [name, value] of a.fields) {
    const other = b.fields.get(name);
    if (other === undefined || !equalValues(value, other)) return false;
  }
  return true;
}

function equalOptionals(a: OptionalValue, b: OptionalValue): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equalValues(a.value, b.value);
}
