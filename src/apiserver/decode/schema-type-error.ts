// A value whose type is not the one of the schema. Messages are those of Go's JSON decoder, so that a
// search finds them.
import type { Schema } from "../kinds/schema.ts";
import { goJsonType, goKind } from "./go-format.ts";
import type { Place } from "./place.ts";

export class SchemaTypeError extends Error {
  override readonly name = "SchemaTypeError";
  readonly code = "SCHEMA_TYPE";
  /** The message of the converter that strategic merge patches use. */
  readonly conversion: string;

  constructor(message: string, conversion = message) {
    super(message);
    this.conversion = conversion;
  }
}

export function mistyped(value: unknown, schema: Schema, place: Place): SchemaTypeError {
  const path = place.goPath;
  const owner = place.owner.split(".").at(-1);
  const target = path === "" ? "Go value" : `Go struct field ${owner}.${path}`;
  const type = goType(schema);
  const isNumberExpected = /^(u?int|float)\d+$/.test(type);
  const given =
    typeof value === "number" && isNumberExpected ? `number ${value}` : goJsonType(value);
  return new SchemaTypeError(
    `json: cannot unmarshal ${given} into ${target} of type ${type}`,
    conversionProblem(value, schema, type),
  );
}

function conversionProblem(value: unknown, schema: Schema, type: string): string {
  const kind = goKind(value);
  switch (schema.type) {
    case "ref":
    case "json":
      return `cannot restore struct from: ${kind}`;
    case "map":
      return `cannot restore map from ${kind}`;
    case "array":
    case "bytes":
      return `cannot restore slice from ${kind}`;
    case "intOrString":
    case "microTime":
    case "quantity":
    case "time":
      return `json: cannot unmarshal ${goJsonType(value)} into Go value of type ${type}`;
    default: {
      const isConvertible =
        (kind === "int64" && type === "string") || (kind === "float64" && type.startsWith("int"));
      return isConvertible ? `cannot convert ${kind} to ${type}` : `unrecognized type: ${type}`;
    }
  }
}

function goType(schema: Schema): string {
  switch (schema.type) {
    case "ref":
      return schema.to.split(".").slice(-2).join(".");
    case "array":
      return `[]${goType(schema.of)}`;
    case "map":
      return `map[string]${goType(schema.of)}`;
    case "bytes":
      return "[]uint8";
    case "boolean":
      return "bool";
    case "number":
      return "float64";
    // These types have a decoder that reads a scalar.
    case "intOrString":
      return "int32";
    case "quantity":
    case "time":
    case "microTime":
      return "string";
    case "json":
      return "map[string]interface {}";
    case "int32":
    case "int64":
    case "string":
      return schema.type;
  }
}
