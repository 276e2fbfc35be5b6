// Functions of lists: Kubernetes' own, CEL's lists extension, and sets.
import { compareValues, equalValues } from "../compare.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, Duration, ListValue, OptionalValue, Uint, type Value } from "../values.ts";

const comparable = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

/** The longest list `lists.range` makes. */
const rangeMax = 1_000_000n;

export const lists: readonly Overload[] = [
  ...comparable.flatMap((type) => [
    defineMethod(`isSorted(list(${type})) bool`, isSorted, byLength),
    defineMethod(`min(list(${type})) ${type}`, (list: ListValue) => extreme(list, "min"), byLength),
    defineMethod(`max(list(${type})) ${type}`, (list: ListValue) => extreme(list, "max"), byLength),
    defineMethod(`sort(list(${type})) list(${type})`, sort, byLength),
  ]),
  defineMethod("sum(list(int)) int", (list: ListValue) => sumOfInts(list), byLength),
  defineMethod("sum(list(uint)) uint", (list: ListValue) => sumOfUints(list), byLength),
  defineMethod("sum(list(double)) double", (list: ListValue) => sumOfDoubles(list), byLength),
  defineMethod("sum(list(duration)) duration", (list: ListValue) => sumOfDurations(list), byLength),
  defineMethod(
    "indexOf(list(A), A) int",
    (list: ListValue, item: Value) => {
      return BigInt(list.items.findIndex((one) => equalValues(one, item)));
    },
    byLength,
  ),
  defineMethod(
    "lastIndexOf(list(A), A) int",
    (list: ListValue, item: Value) => {
      return BigInt(list.items.findLastIndex((one) => equalValues(one, item)));
    },
    byLength,
  ),
  defineMethod("slice(list(A), int, int) list(A)", slice, byLength),
  defineMethod("flatten(list(list(A))) list(A)", (list: ListValue) => flatten(list, 1n), byLength),
  defineMethod("flatten(list(dyn), int) list(dyn)", flatten, byLength),
  defineMethod(
    "reverse(list(A)) list(A)",
    (list: ListValue) => {
      return new ListValue([...list.items].reverse());
    },
    byLength,
  ),
  defineMethod("distinct(list(A)) list(A)", distinct, bySquare),
  defineMethod("first(list(A)) optional(A)", (list: ListValue) => new OptionalValue(list.items[0])),
  defineMethod(
    "last(list(A)) optional(A)",
    (list: ListValue) => new OptionalValue(list.items.at(-1)),
  ),
  define("lists.range(int) list(int)", range, (count: bigint) => Number(count)),
  define("sets.contains(list(A), list(A)) bool", contains, byProduct),
  define(
    "sets.equivalent(list(A), list(A)) bool",
    (a: ListValue, b: ListValue) => {
      return contains(a, b) && contains(b, a);
    },
    byProduct,
  ),
  define(
    "sets.intersects(list(A), list(A)) bool",
    (a: ListValue, b: ListValue) => {
      return a.items.some((item) => b.items.some((other) => equalValues(item, other)));
    },
    byProduct,
  ),
];

function byLength(list: ListValue): number {
  return 1 + list.items.length;
}

function bySquare(list: ListValue): number {
  return 1 + list.items.length ** 2;
}

function byProduct(a: ListValue, b: ListValue): number {
  return 1 + a.items.length * b.items.length;
}

function order(a: Value, b: Value): number {
  const found = compareValues(a, b);
  if (found === undefined) throw new CelError("list elements must have the same type");
  return found;
}

function isSorted({ items }: ListValue): boolean {
  return items.every((item, index) => {
    const before = items[index - 1];
    return before === undefined || order(before, item) <= 0;
  });
}

function sort({ items }: ListValue): ListValue {
  return new ListValue([...items].sort(order));
}

function extreme({ items }: ListValue, which: "min" | "max"): Value {
  const [first, ...rest] = items;
  if (first === undefined) throw new CelError(`${which} called on empty list`);
  const wanted = which === "min" ? -1 : 1;
  return rest.reduce(
    (best, item) => (Math.sign(order(item, best)) === wanted ? item : best),
    first,
  );
}

function sumOfInts({ items }: ListValue): bigint {
  const sum = items.reduce<bigint>(
    (total, item) => total + (typeof item === "bigint" ? item : 0n),
    0n,
  );
  if (sum >= 2n ** 63n || sum < -(2n ** 63n)) throw new CelError("integer overflow");
  return sum;
}

function sumOfUints({ items }: ListValue): Uint {
  return new Uint(
    items.reduce<bigint>((sum, item) => sum + (item instanceof Uint ? item.value : 0n), 0n),
  );
}

function sumOfDoubles({ items }: ListValue): number {
  return items.reduce<number>((sum, item) => sum + (typeof item === "number" ? item : 0), 0);
}

function sumOfDurations({ items }: ListValue): Duration {
  const nanos = items.reduce<bigint>(
    (sum, item) => sum + (item instanceof Duration ? item.nanos : 0n),
    0n,
  );
  return new Duration(nanos);
}

function slice({ items }: ListValue, from: bigint, to: bigint): ListValue {
  const asked = `cannot slice(${from}, ${to})`;
  if (from < 0n || to < 0n) throw new CelError(`${asked}, negative indexes not supported`);
  if (from > to) {
    throw new CelError(`${asked}, start index must be less than or equal to end index`);
  }
  if (to > items.length) throw new CelError(`${asked}, list is length ${items.length}`);
  return new ListValue(items.slice(Number(from), Number(to)));
}

function flatten({ items }: ListValue, depth: bigint): ListValue {
  if (depth < 0n) throw new CelError("level must be non-negative");
  if (depth === 0n) return new ListValue(items);
  return new ListValue(
    items.flatMap((item) => (item instanceof ListValue ? flatten(item, depth - 1n).items : [item])),
  );
}

function distinct({ items }: ListValue): ListValue {
  const kept: Value[] = [];
  for (const item of items) {
    if (!kept.some((other) => equalValues(item, other))) kept.push(item);
  }
  return new ListValue(kept);
}

function range(count: bigint): ListValue {
  if (count > rangeMax) throw new CelError(`range of ${count} is too long`);
  return new ListValue(
    Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)),
  );
}

function contains(a: ListValue, b: ListValue): boolean {
  return b.items.every((item) => a.items.some((other) => equalValues(item, other)));
}
