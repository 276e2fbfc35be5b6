// The type of a value, reduced to the facts that server-side apply needs: its kind of value and
// which of its parts can have different owners. Types of built-in kinds are read from the schema
// table, types of custom resources from their OpenAPI v3 schema.
import { isJsonObject, type JsonObject, objectAt, textAt, textsAt } from "../kinds/fields.ts";
import { type Schema, type SchemaTable, schemas } from "../kinds/schema.ts";

export type ScalarType = "string" | "number" | "boolean" | "any";

/** A type that allows several kinds of value is resolved by the value (`shapeOf`). */
export interface ValueType {
  readonly scalar?: ScalarType;
  readonly list?: ListType;
  readonly map?: MapType;
}

export interface ListType {
  /** The list has one owner; otherwise each item can have its own. */
  readonly isAtomic: boolean;
  /** The fields that identify an item; empty for a set of scalars. */
  readonly keys: readonly string[];
  readonly element: ValueType;
}

/** A struct (named fields), a map (`element`), or both. */
export interface MapType {
  readonly isAtomic: boolean;
  field(name: string): StructField | undefined;
  /** The type of keys that are not named fields; undefined if there are none. */
  readonly element: ValueType | undefined;
  /** There is no schema for its content. */
  readonly isDeduced: boolean;
}

export interface StructField {
  readonly type: ValueType;
  /** The value of the field in the key of a list item without the field. */
  readonly keyDefault?: unknown;
}

/** Any value, with one owner. */
const untypedAtomic: ValueType = {
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

/** Any value, without a schema: each key of a map can have its own owner, lists are atomic. */
const deduced: ValueType = {
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

/** The kind of value that a type reads a value as; `open` if the value does not decide it. */
export type Shape = "map" | "list" | "scalar" | "open";

/** A type with one kind of value reads every value as that kind, valid or not. */
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

/** The kind of value that stands for an open shape. */
export function resolveShape(type: ValueType, shape: Shape): "map" | "list" | "scalar" {
  if (shape !== "open") return shape;
  if (type.map !== undefined) return "map";
  return type.scalar === undefined ? "list" : "scalar";
}

/** The type of one key of a map; `untypedAtomic` for a key that validation refuses. */
export function childType(map: MapType, key: string): ValueType {
  return map.field(key)?.type ?? map.element ?? untypedAtomic;
}

const builtInTypes = new Map<string, ValueType>();

/** The type of that name in the schema table, read on first use: types refer to themselves. */
export function builtInType(name: string): ValueType {
  let type = builtInTypes.get(name);
  if (type === undefined) {
    type = { map: new TableStruct(schemas, name) };
    builtInTypes.set(name, type);
  }
  return type;
}

class TableStruct implements MapType {
  readonly element = undefined;
  readonly isDeduced = false;
  readonly isAtomic: boolean;
  readonly #schemas: SchemaTable;
  readonly #name: string;
  readonly #fields = new Map<string, StructField>();

  constructor(table: SchemaTable, name: string) {
    this.#schemas = table;
    this.#name = name;
    this.isAtomic = table[name]?.atomic ?? false;
  }

  field(name: string): StructField | undefined {
    const found = this.#fields.get(name);
    if (found !== undefined) return found;
    const fields = this.#schemas[this.#name]?.fields ?? {};
    const schema = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (schema === undefined) return undefined;
    const field = { type: tableType(schema), ...keyDefaultOf(schema) };
    this.#fields.set(name, field);
    return field;
  }
}

class TableList implements ListType {
  readonly isAtomic: boolean;
  readonly keys: readonly string[];
  readonly #of: Schema;
  #element: ValueType | undefined;

  constructor(schema: Extract<Schema, { type: "array" }>) {
    const { listType, mapKeys, mergeKey, patchStrategy } = schema;
    // Types that are older than list types have a merge key instead.
    const isMerged = listType === undefined && patchStrategy?.includes("merge") === true;
    this.isAtomic = !isMerged && listType !== "map" && listType !== "set";
    this.keys = mapKeys ?? (isMerged && mergeKey !== undefined ? [mergeKey] : []);
    this.#of = schema.of;
  }

  get element(): ValueType {
    this.#element ??= tableType(this.#of);
    return this.#element;
  }
}

class TableMap implements MapType {
  readonly isAtomic: boolean;
  readonly isDeduced = false;
  readonly element: ValueType;

  constructor(schema: Extract<Schema, { type: "map" }>) {
    this.isAtomic = schema.atomic ?? false;
    this.element = tableType(schema.of);
  }

  field(): undefined {
    return undefined;
  }
}

function tableType(schema: Schema): ValueType {
  switch (schema.type) {
    case "ref":
      return builtInType(schema.to);
    case "array":
      return { list: new TableList(schema) };
    case "map":
      return { map: new TableMap(schema) };
    case "json":
      return deduced;
    case "boolean":
      return { scalar: "boolean" };
    case "bytes":
    case "string":
      return { scalar: "string" };
    case "int32":
    case "int64":
    case "number":
      return { scalar: "number" };
    case "intOrString":
    case "microTime":
    case "quantity":
    case "time":
      return { scalar: "any" };
  }
}

/** In the published schemas, a field that Go always encodes has its zero value as default. */
function keyDefaultOf(schema: Schema): { readonly keyDefault?: unknown } {
  if (schema.default !== undefined) return { keyDefault: schema.default };
  if (schema.whenAbsent !== "zero") return {};
  switch (schema.type) {
    case "string":
      return { keyDefault: "" };
    case "int32":
    case "int64":
      return { keyDefault: 0 };
    default:
      return {};
  }
}

/** The type of a custom resource; it has apiVersion, kind and metadata even without a schema. */
export function structuralType(openApi: JsonObject): ValueType {
  return openApiType(openApi, { keepsUnknown: false, isResource: true });
}

interface OpenApiContext {
  /** Fields without a schema are kept, here and below. */
  readonly keepsUnknown: boolean;
  readonly isResource: boolean;
}

const resourceFields: readonly [string, StructField][] = [
  ["apiVersion", { type: { scalar: "string" } }],
  ["kind", { type: { scalar: "string" } }],
  ["metadata", { type: builtInType("meta.v1.ObjectMeta") }],
];

class StructuralMap implements MapType {
  readonly isAtomic: boolean;
  readonly isDeduced: boolean;
  readonly element: ValueType | undefined;
  readonly #fields: ReadonlyMap<string, StructField>;

  constructor(schema: JsonObject, { keepsUnknown, isResource }: OpenApiContext) {
    const below = { keepsUnknown, isResource: false };
    const properties = Object.entries(objectAt(schema, "properties") ?? {}).filter(
      (entry): entry is [string, JsonObject] => isJsonObject(entry[1]),
    );
    this.#fields = new Map([
      ...properties.map(([name, property]): [string, StructField] => [
        name,
        {
          type: openApiType(property, below),
          ...(property["default"] === undefined ? {} : { keyDefault: property["default"] }),
        },
      ]),
      ...(isResource ? resourceFields : []),
    ]);
    this.isAtomic = textAt(schema, "x-kubernetes-map-type") === "atomic";
    this.element = additionalType(schema, below, this.#fields);
    this.isDeduced = this.element === deduced && this.#fields.size === 0;
  }

  field(name: string): StructField | undefined {
    return this.#fields.get(name);
  }
}

function openApiType(schema: JsonObject, context: OpenApiContext): ValueType {
  const keepsUnknown =
    context.keepsUnknown || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isResource = context.isResource || schema["x-kubernetes-embedded-resource"] === true;
  const inner = { keepsUnknown, isResource };
  switch (textAt(schema, "type")) {
    case "object":
      return { map: new StructuralMap(schema, inner) };
    case "array":
      return { list: openApiList(schema, inner) };
    case "string":
      // A format may allow other kinds of value, such as int-or-string.
      return { scalar: ["", "byte"].includes(textAt(schema, "format")) ? "string" : "any" };
    case "boolean":
      return { scalar: "boolean" };
    case "integer":
    case "number":
      return { scalar: "number" };
    default:
      return {
        scalar: "any",
        list: openApiList(schema, inner),
        map: new StructuralMap(schema, inner),
      };
  }
}

function openApiList(schema: JsonObject, { keepsUnknown }: OpenApiContext): ListType {
  const listType = textAt(schema, "x-kubernetes-list-type");
  const items = objectAt(schema, "items");
  return {
    isAtomic: listType !== "map" && listType !== "set",
    keys: listType === "map" ? textsAt(schema, "x-kubernetes-list-map-keys") : [],
    element:
      items === undefined ? untypedAtomic : openApiType(items, { keepsUnknown, isResource: false }),
  };
}

/** The type of fields that `properties` does not name. */
function additionalType(
  schema: JsonObject,
  context: OpenApiContext,
  fields: ReadonlyMap<string, StructField>,
): ValueType | undefined {
  const additional = schema["additionalProperties"];
  if (isJsonObject(additional)) return openApiType(additional, context);
  if (additional === true) return deduced;
  if (additional === false) return undefined;
  // An object without properties may have any fields.
  return context.keepsUnknown || fields.size === 0 ? deduced : undefined;
}
