// Value types of the built-in kinds, read from the schema table when they are first needed: types
// refer to each other, and to themselves.
import { type Schema, type SchemaTable, schemas } from "../kinds/schema.ts";
import {
  deduced,
  type ListType,
  type MapType,
  type StructField,
  type ValueType,
} from "./value-type.ts";

const known = new Map<string, ValueType>();

/** The type of that name in the schema table. */
export function tableType(name: string): ValueType {
  let type = known.get(name);
  if (type === undefined) {
    type = { map: new TableStruct(schemas, name) };
    known.set(name, type);
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
    const field = { type: typeOfSchema(schema), ...keyDefaultOf(schema) };
    this.#fields.set(name, field);
    return field;
  }
}

function typeOfSchema(schema: Schema): ValueType {
  switch (schema.type) {
    case "ref":
      return tableType(schema.to);
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

/** The published schemas give every field that Go always writes its zero value as default. */
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

class TableList implements ListType {
  readonly isAtomic: boolean;
  readonly keys: readonly string[];
  readonly #of: Schema;
  #element: ValueType | undefined;

  constructor(schema: Extract<Schema, { type: "array" }>) {
    const { listType, mapKeys, mergeKey, patchStrategy } = schema;
    // Types older than list types say it by their merge keys.
    const isMerged = listType === undefined && patchStrategy?.includes("merge") === true;
    this.isAtomic = !isMerged && listType !== "map" && listType !== "set";
    this.keys = mapKeys ?? (isMerged && mergeKey !== undefined ? [mergeKey] : []);
    this.#of = schema.of;
  }

  get element(): ValueType {
    this.#element ??= typeOfSchema(this.#of);
    return this.#element;
  }
}

class TableMap implements MapType {
  readonly isAtomic: boolean;
  readonly isDeduced = false;
  readonly element: ValueType;

  constructor(schema: Extract<Schema, { type: "map" }>) {
    this.isAtomic = schema.atomic ?? false;
    this.element = typeOfSchema(schema.of);
  }

  field(): undefined {
    return undefined;
  }
}
