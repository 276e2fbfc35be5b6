// Lists that are sets or maps hold each value, or each key, once. Kubernetes reports the second of
// its kind and stays silent about a third.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { childPath, keyPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";

export function checkListTypes(
  schema: JsonSchema | undefined,
  value: unknown,
  path: string,
  errors: FieldErrors,
): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    checkList(schema, value, path, errors);
  } else if (isJsonObject(value)) {
    const { properties, additionalProperties } = schema;
    for (const [field, own] of Object.entries(value)) {
      if (typeof additionalProperties === "object") {
        checkListTypes(additionalProperties, own, keyPath(path, field), errors);
      }
      checkListTypes(properties.get(field), own, childPath(path, field), errors);
    }
  }
}

function checkList(
  schema: JsonSchema,
  list: readonly unknown[],
  path: string,
  errors: FieldErrors,
): void {
  if (schema.listType === "set") {
    reportRepeated(list, path, errors);
  } else if (schema.listType === "map") {
    const wrong = list.findIndex((item) => item !== null && !isJsonObject(item));
    if (wrong >= 0) {
      const detail = "must be an object for an array of list-type map";
      errors.invalid(keyPath(path, wrong), list[wrong], detail);
    } else {
      reportRepeated(
        list.map((item) => keysOf(schema, item)),
        path,
        errors,
      );
    }
  }
  for (const [index, item] of list.entries()) {
    checkListTypes(schema.items, item, keyPath(path, index), errors);
  }
}

function keysOf({ listMapKeys }: JsonSchema, item: unknown): JsonObject {
  const given = isJsonObject(item) ? item : {};
  const present = listMapKeys.filter((key) => Object.hasOwn(given, key));
  return Object.fromEntries(present.map((key) => [key, given[key]]));
}

function reportRepeated(values: readonly unknown[], path: string, errors: FieldErrors): void {
  const seen = new Map<string, number>();
  for (const [index, value] of values.entries()) {
    const text = sortedJson(value);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    if (times === 2) errors.duplicate(keyPath(path, index), value);
  }
}

/** JSON with the fields of objects in order, so that equal values have equal texts. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
