// Values while an expression runs. Texts, booleans, null and doubles are JavaScript's; an int is a
// bigint; everything else has a class, so that a value always tells its type.

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Timestamp
  | Duration
  | ListValue
  | MapValue
  | ObjectValue
  | OptionalValue
  | TypeValue
  | OpaqueValue;

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** Nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

const nanosPerSecond = 1_000_000_000n;

/** Nanoseconds. */
export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  /** As protobuf writes it in JSON: `5400s`, `0.5s`. */
  toString(): string {
    const size = this.nanos < 0n ? -this.nanos : this.nanos;
    const fraction = String(size % nanosPerSecond).padStart(9, "0");
    const digits = `${size / nanosPerSecond}.${fraction}`.replace(/\.?0+$/, "");
    return `${this.nanos < 0n ? "-" : ""}${digits}s`;
  }
}

export class ListValue {
  readonly items: readonly Value[];
  /**
   * How it is compared: `set` and `map` lists are equal in any order; a map by these keys. Absent:
   * item by item.
   */
  readonly merge: ListMerge | undefined;
  constructor(items: readonly Value[], merge?: ListMerge) {
    this.items = items;
    this.merge = merge;
  }
}

export type ListMerge =
  | { readonly type: "set" }
  | { readonly type: "map"; readonly keys: readonly string[] };

export type KeyValue = boolean | bigint | string | Uint | number;

export class MapValue {
  /** By the text of `keyText`, under which equal numbers of any type are one. */
  readonly entries: ReadonlyMap<string, readonly [KeyValue, Value]>;

  constructor(entries: Iterable<readonly [KeyValue, Value]>) {
    const byText = new Map<string, readonly [KeyValue, Value]>();
    for (const entry of entries) byText.set(keyText(entry[0]), entry);
    this.entries = byText;
  }

  get(key: Value): Value | undefined {
    return isKey(key) ? this.entries.get(keyText(key))?.[1] : undefined;
  }
}

/** An object with the fields its schema knows, by their escaped names. */
export class ObjectValue {
  readonly fields: ReadonlyMap<string, Value>;
  constructor(fields: ReadonlyMap<string, Value>) {
    this.fields = fields;
  }
}

export class OptionalValue {
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a library's own type: an address, a URL, a quantity. */
export abstract class OpaqueValue {
  abstract readonly typeName: string;
  abstract equals(other: OpaqueValue): boolean;
}

/** What went wrong while an expression ran: it has no result. */
export class CelError extends Error {
  override readonly name = "CelError";
  readonly code = "CEL";
}

/** The expression has done more than it may: nothing absorbs this. */
export class CelCostError extends Error {
  override readonly name = "CelCostError";
  readonly code = "CEL_COST";
}

export function isKey(value: Value): value is KeyValue {
  return (
    typeof value === "string" ||
    typeof value === "boolean" ||
    typeof value === "bigint" ||
    typeof value === "number" ||
    value instanceof Uint
  );
}

function keyText(key: KeyValue): string {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "boolean") return `b${key}`;
  if (typeof key === "number") return Number.isInteger(key) ? `n${BigInt(key)}` : `n${key}`;
  return `n${key instanceof Uint ? key.value : key}`;
}

/** The name of a value's type, as `type()` and messages have it. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    default:
      return classNameOf(value);
  }
}

function classNameOf(value: Exclude<Value, string | boolean | bigint | number>): string {
  if (value === null) return "null_type";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  if (value instanceof Duration) return "google.protobuf.Duration";
  if (value instanceof ListValue) return "list";
  if (value instanceof MapValue) return "map";
  if (value instanceof ObjectValue) return "object";
  if (value instanceof OptionalValue) return "optional_type";
  if (value instanceof TypeValue) return "type";
  return value instanceof OpaqueValue ? value.typeName : "bytes";
}
