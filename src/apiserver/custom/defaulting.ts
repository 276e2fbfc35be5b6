// Fills in what a schema's defaults say, at any depth below what is there. An absent object is not
// made for the sake of defaults inside it, as in Kubernetes. The object given is changed.
import { copyOf, isJsonObject, ownField, setField } from "../kinds/fields.ts";
import { fieldSchema, type JsonSchema } from "./json-schema.ts";

export function applyDefaults(value: unknown, schema: JsonSchema | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    defaultItems(value, schema.items);
  } else if (isJsonObject(value)) {
    for (const [field, own] of schema.properties) {
      if (own.default !== undefined && isMissing(ownField(value, field), own)) {
        setField(value, field, copyOf(own.default));
      }
    }
    for (const field of Object.keys(value)) {
      const own = fieldSchema(schema, field);
      if (own?.default !== undefined && isMissing(value[field], own)) {
        setField(value, field, copyOf(own.default));
      }
      applyDefaults(value[field], own);
    }
  }
}

function defaultItems(list: unknown[], schema: JsonSchema | undefined): void {
  for (const [index, item] of list.entries()) {
    const isFilled = item === null && schema?.nullable === false && schema.default !== undefined;
    if (isFilled) list[index] = copyOf(schema.default);
    applyDefaults(list[index], schema);
  }
}

function isMissing(value: unknown, schema: JsonSchema): boolean {
  return value === undefined || (value === null && !schema.nullable);
}
