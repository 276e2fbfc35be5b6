// The operators of CEL as functions. Arithmetic that leaves its type is an error, not a wrap.
import { elementOf, readElement } from "../access.ts";
import { compareValues, equalValues, sameKeys } from "../compare.ts";
import { define, type Overload } from "../overloads.ts";
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  OptionalValue,
  Timestamp,
  Uint,
  type Value,
} from "../values.ts";
import { byText, byTexts } from "./costs.ts";

const int64Max = 2n ** 63n - 1n;
const int64Min = -(2n ** 63n);
const uint64Max = 2n ** 64n - 1n;

/** Evaluated without its operands first: see the evaluator. Here they are for the checker. */
const lazy: readonly Overload[] = [
  define("_&&_(bool, bool) bool", (a: boolean, b: boolean) => a && b),
  define("_||_(bool, bool) bool", (a: boolean, b: boolean) => a || b),
  define("_?_:_(bool, A, A) A", (condition: boolean, a: Value, b: Value) => (condition ? a : b)),
];

const arithmetic: readonly Overload[] = [
  define("_+_(int, int) int", (a: bigint, b: bigint) => int(a + b)),
  define("_+_(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value + b.value)),
  define("_+_(double, double) double", (a: number, b: number) => a + b),
  define("_+_(string, string) string", (a: string, b: string) => a + b, byTexts),
  define("_+_(bytes, bytes) bytes", (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b])),
  define("_+_(list(A), list(A)) list(A)", concatenate),
  define(
    "_+_(timestamp, duration) timestamp",
    (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos),
  ),
  define(
    "_+_(duration, timestamp) timestamp",
    (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos),
  ),
  define("_+_(duration, duration) duration", (a: Duration, b: Duration) => span(a.nanos + b.nanos)),
  define("_-_(int, int) int", (a: bigint, b: bigint) => int(a - b)),
  define("_-_(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value - b.value)),
  define("_-_(double, double) double", (a: number, b: number) => a - b),
  define("_-_(timestamp, timestamp) duration", (a: Timestamp, b: Timestamp) =>
    span(a.nanos - b.nanos),
  ),
  define(
    "_-_(timestamp, duration) timestamp",
    (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos),
  ),
  define("_-_(duration, duration) duration", (a: Duration, b: Duration) => span(a.nanos - b.nanos)),
  define("_*_(int, int) int", (a: bigint, b: bigint) => int(a * b)),
  define("_*_(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value * b.value)),
  define("_*_(double, double) double", (a: number, b: number) => a * b),
  define("_/_(int, int) int", (a: bigint, b: bigint) => int(a / divisor(b))),
  define("_/_(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value / divisor(b.value))),
  define("_/_(double, double) double", (a: number, b: number) => a / b),
  define("_%_(int, int) int", (a: bigint, b: bigint) => int(a % modulus(b))),
  define("_%_(uint, uint) uint", (a: Uint, b: Uint) => uint(a.value % modulus(b.value))),
  define("-_(int) int", (a: bigint) => int(-a)),
  define("-_(double) double", (a: number) => -a),
  define("-_(duration) duration", (a: Duration) => span(-a.nanos)),
  define("!_(bool) bool", (a: boolean) => !a),
];

const access: readonly Overload[] = [
  define("_[_](list(A), int) A", readElement),
  define("_[_](map(A, B), A) B", readElement),
  define("_[_](optional(list(A)), int) optional(A)", chained),
  define("_[_](optional(map(A, B)), A) optional(B)", chained),
  define("_[?_](list(A), int) optional(A)", optionally),
  define("_[?_](map(A, B), A) optional(B)", optionally),
  define("_[?_](optional(list(A)), int) optional(A)", chained),
  define("_[?_](optional(map(A, B)), A) optional(B)", chained),
  define(
    "@in(A, list(A)) bool",
    (item: Value, list: ListValue) => {
      return list.items.some((other) => equalValues(item, other));
    },
    (_: Value, list: ListValue) => 1 + list.items.length,
  ),
  define("@in(A, map(A, B)) bool", (key: Value, map: MapValue) => map.get(key) !== undefined),
];

const ordered = ["bool", "string", "bytes", "timestamp", "duration"];
const numbers = ["int", "uint", "double"];

export const operators: readonly Overload[] = [
  ...lazy,
  ...arithmetic,
  ...access,
  define("_==_(A, A) bool", equalValues, equalityCost),
  define("_!=_(A, A) bool", (a: Value, b: Value) => !equalValues(a, b), equalityCost),
  ...comparisons("_<_", (order) => order < 0),
  ...comparisons("_<=_", (order) => order <= 0),
  ...comparisons("_>_", (order) => order > 0),
  ...comparisons("_>=_", (order) => order >= 0),
];

function comparisons(name: string, holds: (order: number) => boolean): readonly Overload[] {
  const compare = (a: Value, b: Value): boolean => {
    const order = compareValues(a, b);
    if (order === undefined) throw new CelError("NaN values cannot be ordered");
    return holds(order);
  };
  const pairs = [
    ...ordered.map((type) => [type, type]),
    ...numbers.flatMap((left) => numbers.map((right) => [left, right])),
  ];
  return pairs.map(([left, right]) => define(`${name}(${left}, ${right}) bool`, compare, shorter));
}

/** Texts are compared up to the end of the shorter one. */
function shorter(a: Value, b: Value): number {
  return 1 + Math.min(byText(a), byText(b));
}

function equalityCost(a: Value, b: Value): number {
  return 1 + Math.min(sizeOf(a), sizeOf(b));
}

/** How much there is to compare, looked at only at the top. */
function sizeOf(value: Value): number {
  if (value instanceof ListValue) return value.items.length;
  return value instanceof MapValue ? value.entries.size : byText(value);
}

function int(value: bigint): bigint {
  if (value > int64Max || value < int64Min) throw new CelError("integer overflow");
  return value;
}

function uint(value: bigint): Uint {
  if (value > uint64Max || value < 0n) throw new CelError("unsigned integer overflow");
  return new Uint(value);
}

function span(nanos: bigint): Duration {
  if (nanos > int64Max || nanos < int64Min) throw new CelError("duration overflow");
  return new Duration(nanos);
}

function divisor(value: bigint): bigint {
  if (value === 0n) throw new CelError("division by zero");
  return value;
}

function modulus(value: bigint): bigint {
  if (value === 0n) throw new CelError("modulus by zero");
  return value;
}

/** A set gains what it has not; a map list is overwritten where keys are equal. */
function concatenate(a: ListValue, b: ListValue): ListValue {
  const { merge } = a;
  if (merge === undefined) return new ListValue([...a.items, ...b.items]);
  if (merge.type === "set") {
    const added = b.items.filter((item) => !a.items.some((one) => equalValues(one, item)));
    return new ListValue([...a.items, ...added], merge);
  }
  const same = (one: Value, other: Value) => sameKeys(one, other, merge.keys);
  const kept = a.items.map((item) => b.items.find((other) => same(item, other)) ?? item);
  const added = b.items.filter((item) => !a.items.some((one) => same(one, item)));
  return new ListValue([...kept, ...added], merge);
}

function optionally(of: Value, key: Value): OptionalValue {
  return new OptionalValue(elementOf(of, key));
}

function chained(of: OptionalValue, key: Value): OptionalValue {
  return of.value === undefined ? of : optionally(of.value, key);
}
