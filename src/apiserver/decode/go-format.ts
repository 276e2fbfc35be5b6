// JSON values as Go prints them with %v, which is how its patch errors show the part they are about.
import { isJsonObject } from "../kinds/fields.ts";

export function formatGoValue(value: unknown): string {
  if (value === null || value === undefined) {
    return "<nil>";
  }
  if (Array.isArray(value)) {
    return `[${value.map(formatGoValue).join(" ")}]`;
  }
  if (isJsonObject(value)) {
    const entries = Object.keys(value)
      .sort()
      .map((key) => `${key}:${formatGoValue(value[key])}`);
    return `map[${entries.join(" ")}]`;
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The value as %s prints it: text as it is, anything else with its type. */
export function formatGoText(value: unknown): string {
  if (value === null) {
    return "%!s(<nil>)";
  }
  return typeof value === "string" || typeof value === "object"
    ? formatGoValue(value)
    : `%!s(${goTypeOf(value)}=${formatGoValue(value)})`;
}

/** The type Go's decoder gives a JSON value whose type it is not told. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) {
    return "%!s(<nil>)";
  }
  if (Array.isArray(value)) {
    return "[]interface {}";
  }
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    case "string":
      return "string";
    default:
      return "map[string]interface {}";
  }
}
