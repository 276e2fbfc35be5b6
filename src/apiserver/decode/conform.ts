// Conforms JSON to its schema: known fields only, in the order of the schema, without nulls and
// without zero values except those that Go always encodes. Equal objects thus have equal bytes, so
// that a no-op update can be detected, as with the Go types of the real server.
import { isJsonObject, type JsonObject, setField } from "../kinds/fields.ts";
import { type Schema, schemas, type TypeSchema } from "../kinds/schema.ts";
import { microTimeLayout, timeLayout, timeProblem } from "./go-time.ts";
import { Place } from "./place.ts";
import { mistyped, SchemaTypeError } from "./schema-type-error.ts";

export interface Conformed {
  readonly value: JsonObject;
  /** Paths of fields that are not in the schema, in the order of the value. */
  readonly unknownFields: readonly string[];
}

export function conform(typeName: string, value: unknown): Conformed {
  const place = Place.root(typeName);
  const conformed = conformType(typeName, value, place);
  return { value: conformed, unknownFields: place.unknownFields };
}

function conformType(typeName: string, value: unknown, place: Place): JsonObject {
  if (!isJsonObject(value)) {
    throw mistyped(value, { type: "ref", to: typeName }, place);
  }
  const { fields } = typeSchema(typeName);
  for (const field of Object.keys(value)) {
    if (!Object.hasOwn(fields, field)) {
      place.unknownFields.push(place.field(field, typeName).path);
    }
  }
  const result: JsonObject = {};
  // Not Object.entries: this loop runs for every field of every written object.
  for (const field in fields) {
    const schema = fields[field];
    const isAbsent = schema?.omitZero === true && isZero(schema, value[field]);
    const given = (isAbsent ? undefined : value[field]) ?? schema?.default;
    if (schema !== undefined && given !== undefined) {
      result[field] = conformValue(schema, given, place.field(field, typeName));
    } else if (schema?.whenAbsent !== undefined) {
      result[field] = whenAbsent(schema);
    }
  }
  return result;
}

function whenAbsent(schema: Schema): unknown {
  if (schema.whenAbsent === "null") {
    return null;
  }
  return schema.type === "ref" ? conform(schema.to, {}).value : zeroValue(schema);
}

function conformValue(schema: Schema, value: unknown, place: Place): unknown {
  switch (schema.type) {
    case "ref":
      return conformType(schema.to, value, place);
    case "array":
      return conformArray(schema, value, place);
    case "map":
      return conformMap(schema, value, place);
    case "json":
      return value;
    case "int32":
    case "int64":
      return conformInteger(schema, value, place);
    case "number":
    case "boolean":
      return expectType(schema.type, schema, value, place);
    case "intOrString":
      return typeof value === "number"
        ? conformInteger(schema, value, place)
        : expectType("string", schema, value, place);
    case "quantity":
      return conformQuantity(value);
    case "time":
    case "microTime":
      return conformTime(schema, value, place);
    case "bytes":
      return conformBytes(schema, value, place);
    case "string":
      return expectType("string", schema, value, place);
  }
}

function conformArray(
  schema: Extract<Schema, { type: "array" }>,
  value: unknown,
  place: Place,
): unknown[] {
  if (!Array.isArray(value)) {
    throw mistyped(value, schema, place);
  }
  return value.map((item: unknown, index) =>
    conformValue(schema.of, item ?? zeroValue(schema.of), place.item(index)),
  );
}

function conformMap(
  schema: Extract<Schema, { type: "map" }>,
  value: unknown,
  place: Place,
): JsonObject {
  if (!isJsonObject(value)) {
    throw mistyped(value, schema, place);
  }
  const result: JsonObject = {};
  for (const key of Object.keys(value).sort()) {
    const item = value[key] ?? zeroValue(schema.of);
    setField(result, key, conformValue(schema.of, item, place.key(key)));
  }
  return result;
}

const int32Max = 2 ** 31 - 1;

function conformInteger(schema: Schema, value: unknown, place: Place): unknown {
  const isInteger = typeof value === "number" && Number.isInteger(value);
  if (!isInteger || (schema.type !== "int64" && Math.abs(value) > int32Max)) {
    throw mistyped(value, schema, place);
  }
  return value;
}

const quantityPattern = /^[+-]?(\d+(\.\d*)?|\.\d+)([numkKMGTPE]i?|[eE][+-]?\d+)?$/;

function conformQuantity(value: unknown): unknown {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !quantityPattern.test(text)) {
    throw new SchemaTypeError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  return text;
}

function conformTime(schema: Schema, value: unknown, place: Place): unknown {
  if (typeof value !== "string") {
    throw mistyped(value, schema, place);
  }
  const problem = timeProblem(value, schema.type === "microTime" ? microTimeLayout : timeLayout);
  if (problem !== undefined) {
    throw new SchemaTypeError(problem);
  }
  return value;
}

function conformBytes(schema: Schema, value: unknown, place: Place): unknown {
  if (typeof value !== "string") {
    throw mistyped(value, schema, place);
  }
  if (!base64Pattern.test(value)) {
    throw new SchemaTypeError(`illegal base64 data at input byte ${base64Mistake(value)}`);
  }
  return value;
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The index of the first invalid character, or of an incomplete group of four. */
function base64Mistake(text: string): number {
  const [valid = ""] = /^[A-Za-z0-9+/]*/.exec(text) ?? [];
  return valid.length < text.length ? valid.length : text.length - (text.length % 4);
}

function expectType(
  type: "string" | "number" | "boolean",
  schema: Schema,
  value: unknown,
  place: Place,
): unknown {
  if (typeof value !== type) {
    throw mistyped(value, schema, place);
  }
  return value;
}

/** An empty value of another type is not a zero value; it is refused later. */
function isZero(schema: Schema, value: unknown): boolean {
  switch (typeof value) {
    case "string":
      return value === "" && (schema.type === "string" || schema.type === "bytes");
    case "number":
      return value === 0 && schema.type !== "string";
    case "boolean":
      return !value && schema.type === "boolean";
    case "object":
      return schema.type === "array"
        ? Array.isArray(value) && value.length === 0
        : isJsonObject(value) && Object.keys(value).length === 0;
    default:
      return false;
  }
}

/** The value that Go decodes from a null in a list or map. */
function zeroValue(schema: Schema): unknown {
  switch (schema.type) {
    case "ref":
    case "map":
    case "json":
      return {};
    case "array":
      return [];
    case "int32":
    case "int64":
    case "number":
    case "intOrString":
      return 0;
    case "boolean":
      return false;
    case "bytes":
    case "microTime":
    case "string":
    case "time":
      return "";
    case "quantity":
      return "0";
  }
}

function typeSchema(name: string): TypeSchema {
  const type = schemas[name];
  if (type === undefined) {
    throw new Error(`no schema for ${name}`);
  }
  return type;
}
