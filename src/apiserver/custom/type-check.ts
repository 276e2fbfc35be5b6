// Whether a value is of the JSON type its schema says, and if not, the words for it.
import { isJsonObject } from "../kinds/fields.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { ValueFailure } from "./value-failure.ts";

/** Undefined when it is. */
export function checkType(
  schema: JsonSchema,
  value: unknown,
  path: string,
): ValueFailure | undefined {
  const types = typesOf(schema);
  const format = supportedNumberFormat(schema) ? schema.format : "";
  if (types.length === 0 && format === "") return undefined;
  if (value === null) {
    const isAllowed = types.length === 0 || schema.nullable;
    return isAllowed ? undefined : mistyped(path, types.join(","), "null");
  }
  const actual = jsonType(value);
  if (types.includes(actual) || (actual === "integer" && types.includes("number"))) {
    return undefined;
  }
  const isText = typeof value === "string" || Array.isArray(value);
  if (format !== "" && !isText) return mistyped(path, format, numberFormats.get(actual) ?? "");
  return mistyped(path, types.join(","), actual);
}

export function jsonType(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (Array.isArray(value)) return "array";
  return isJsonObject(value) ? "object" : typeof value;
}

/** What Go decodes a number into. */
const numberFormats: ReadonlyMap<string, string> = new Map([
  ["integer", "int64"],
  ["number", "float64"],
]);

function typesOf({ type, isIntOrString }: JsonSchema): readonly string[] {
  if (isIntOrString) return ["integer", "string"];
  return type === "" ? [] : [type];
}

function supportedNumberFormat({ type, format }: JsonSchema): boolean {
  if (type === "integer") return format === "int32" || format === "int64";
  return type === "number" && (format === "float" || format === "double");
}

function mistyped(path: string, expected: string, actual: string): ValueFailure {
  const message = `${path} in body must be of type ${expected}: ${JSON.stringify(actual)}`;
  return { type: "mistyped", path, value: actual, message };
}
