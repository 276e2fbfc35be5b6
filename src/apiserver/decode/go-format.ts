// JSON values in the forms that messages of Go programs show them in.
import { isJsonObject } from "../kinds/fields.ts";

/** %v. */
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

/** %s: a string as it is, other scalars with their type. */
export function formatGoText(value: unknown): string {
  if (value === null) {
    return "%!s(<nil>)";
  }
  return typeof value === "string" || typeof value === "object"
    ? formatGoValue(value)
    : `%!s(${goTypeOf(value)}=${formatGoValue(value)})`;
}

/** %#v: the value in Go syntax. */
export function formatGoSyntax(value: unknown): string {
  if (Array.isArray(value)) {
    return `[]interface {}{${value.map(formatGoSyntax).join(", ")}}`;
  }
  if (isJsonObject(value)) {
    const entries = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${formatGoSyntax(value[key])}`);
    return `map[string]interface {}{${entries.join(", ")}}`;
  }
  return value === null || value === undefined ? "interface {}(nil)" : JSON.stringify(value);
}

/** The Go type of a JSON value that was decoded without a type; the messages print it with %s. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) {
    return "%!s(<nil>)";
  }
  switch (goKind(value)) {
    case "slice":
      return "[]interface {}";
    case "map":
      return "map[string]interface {}";
    default:
      return goKind(value);
  }
}

/** The reflect.Kind of a JSON value that was decoded without a type. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) {
    return "slice";
  }
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    case "string":
      return "string";
    default:
      return "map";
  }
}

/** The JSON type in messages of Go's decoder. */
export function goJsonType(value: unknown): string {
  if (Array.isArray(value)) {
    return "array";
  }
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** JSON as Go encodes it: characters with a meaning in HTML are escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(value ?? null).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
