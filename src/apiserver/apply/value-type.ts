// What kinds of value a field may hold and how far down its parts have owners of their own: the
// view of a schema that merging and ownership need, be it of the built-in table or of a custom
// resource's OpenAPI. A type may allow several kinds of value; the value then tells which it is.

export type ScalarType = "string" | "number" | "boolean" | "any";

export interface ValueType {
  readonly scalar?: ScalarType;
  readonly list?: ListType;
  readonly map?: MapType;
}

export interface ListType {
  /** One value as a whole; otherwise its items have owners of their own. */
  readonly isAtomic: boolean;
  /** What tells items apart; empty for a set of plain values. */
  readonly keys: readonly string[];
  readonly element: ValueType;
}

/** A struct (named fields), a map (`element`), or both. */
export interface MapType {
  readonly isAtomic: boolean;
  field(name: string): StructField | undefined;
  /** The type of keys that are not named fields; undefined when there may be none. */
  readonly element: ValueType | undefined;
  /** Nothing is known of what it holds. */
  readonly isDeduced: boolean;
}

export interface StructField {
  readonly type: ValueType;
  /** Stands in for the field in the key of a list item that leaves it out. */
  readonly keyDefault?: unknown;
}

/** Anything, owned as a whole. */
export const untypedAtomic: ValueType = {
  scalar: "any",
  list: {
    isAtomic: true,
    keys: [],
    get element() {
      return untypedAtomic;
    },
  },
  map: {
    isAtomic: true,
    field: () => undefined,
    get element() {
      return untypedAtomic;
    },
    isDeduced: false,
  },
};

/** Anything, without a schema: maps are owned key by key, lists as a whole. */
export const deduced: ValueType = {
  scalar: "any",
  list: { isAtomic: true, keys: [], element: untypedAtomic },
  map: {
    isAtomic: false,
    field: () => undefined,
    get element() {
      return deduced;
    },
    isDeduced: true,
  },
};

/** Which kind of value a type takes a value for; `open` when that cannot be told. */
export type Shape = "map" | "list" | "scalar" | "open";

/** A type with one kind of value takes every value for that kind, fitting or not. */
export function shapeOf(type: ValueType, value: unknown): Shape {
  const { map, list, scalar } = type;
  if (map !== undefined && list === undefined && scalar === undefined) return "map";
  if (scalar !== undefined && list === undefined && map === undefined) return "scalar";
  if (list !== undefined && map === undefined && scalar === undefined) return "list";
  if (value === undefined || value === null) return "open";
  if (Array.isArray(value)) return list === undefined ? "open" : "list";
  if (typeof value === "object") return map === undefined ? "open" : "map";
  return scalar === undefined ? "open" : "scalar";
}

/** What a value of that shape is treated as. */
export function resolveShape(type: ValueType, shape: Shape): "map" | "list" | "scalar" {
  if (shape !== "open") return shape;
  if (type.map !== undefined) return "map";
  return type.scalar === undefined ? "list" : "scalar";
}

/** The type of one key of a map; `untypedAtomic` for what validation would have refused. */
export function childType(map: MapType, key: string): ValueType {
  return map.field(key)?.type ?? map.element ?? untypedAtomic;
}
