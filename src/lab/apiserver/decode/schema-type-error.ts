// A value that is not what the schema says, in the words of Go's JSON decoder, which is what people
// find when they search for the message.
import type { Schema } from "../kinds/schema.ts";
import type { Place } from "./place.ts";

export class SchemaTypeError extends Error {
  override readonly name = "SchemaTypeError";
  readonly code = "SCHEMA_TYPE";
}

export function mistyped(value: unknown, schema: Schema, place: Place): SchemaTypeError {
  const owner = place.owner.split(".").at(-1);
  const target = place.path === "" ? "Go value" : `Go struct field ${owner}.${place.path}`;
  return new SchemaTypeError(
    `json: cannot unmarshal ${describe(value)} into ${target} of type ${goType(schema)}`,
  );
}

function describe(value: unknown): string {
  if (Array.isArray(value)) {
    return "array";
  }
  if (typeof value === "boolean") {
    return "bool";
  }
  return typeof value === "number" ? `number ${value}` : typeof value;
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
    case "intOrString":
      return "intstr.IntOrString";
    case "quantity":
      return "resource.Quantity";
    case "time":
      return "v1.Time";
    case "microTime":
      return "v1.MicroTime";
    case "json":
      return "map[string]interface {}";
    case "int32":
    case "int64":
    case "string":
      return schema.type;
  }
}
