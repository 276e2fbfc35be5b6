// JSON as the rules of its schema see it.

import { parseGoNanos } from "../../environment/go-duration.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { parseTimestamp } from "./cel/functions/timestamps.ts";
import {
  CelError,
  Duration,
  type ListMerge,
  ListValue,
  MapValue,
  ObjectValue,
  Timestamp,
  type Value,
} from "./cel/values.ts";
import type { JsonSchema } from "./json-schema.ts";
import { escapedName, withTypeAndMeta } from "./rule-types.ts";

/** Throws a `CelError` for what the schema does not allow: old objects may hold such. */
export function ruleValue(json: unknown, schema: JsonSchema, isResource: boolean): Value {
  if (json === null || json === undefined) return null;
  if (Array.isArray(json)) return listValue(json, schema);
  if (isJsonObject(json)) return objectValue(json, isResource ? withTypeAndMeta(schema) : schema);
  if (typeof json === "string") return textValue(json, schema);
  if (typeof json === "boolean") return json;
  if (typeof json !== "number") throw new CelError(`invalid data, ${typeof json}`);
  return schema.type !== "number" && Number.isInteger(json) ? BigInt(json) : json;
}

function listValue(list: readonly unknown[], schema: JsonSchema): Value {
  const { items } = schema;
  if (schema.type !== "array" || items === undefined) {
    throw new CelError(`invalid data, expected ${schema.type} to match the schema but got array`);
  }
  const values = list.map((item) => ruleValue(item, items, items.isEmbeddedResource));
  return new ListValue(values, mergeOf(schema));
}

function mergeOf({ listType, listMapKeys }: JsonSchema): ListMerge | undefined {
  if (listType === "set") return { type: "set" };
  if (listType !== "map") return undefined;
  return { type: "map", keys: listMapKeys.map((key) => escapedName(key) ?? key) };
}

function objectValue(object: JsonObject, schema: JsonSchema): Value {
  const { properties, additionalProperties } = schema;
  if (typeof additionalProperties === "object") {
    const { isEmbeddedResource } = additionalProperties;
    return new MapValue(
      Object.entries(object).map(
        ([key, value]) =>
          [key, ruleValue(value, additionalProperties, isEmbeddedResource)] as const,
      ),
    );
  }
  const fields = new Map<string, Value>();
  for (const [name, value] of Object.entries(object)) {
    const own = properties.get(name);
    const escaped = escapedName(name);
    if (own === undefined || escaped === undefined) continue;
    if (own.type === "" && !own.isIntOrString) continue;
    fields.set(escaped, ruleValue(value, own, own.isEmbeddedResource));
  }
  return new ObjectValue(fields);
}

function textValue(text: string, { format }: JsonSchema): Value {
  switch (format) {
    case "byte":
      return Buffer.from(text, "base64");
    case "duration": {
      const nanos = parseGoNanos(text);
      if (nanos === undefined) throw new CelError(`invalid duration ${text}`);
      return new Duration(nanos);
    }
    case "date":
      return new Timestamp(parseTimestamp(`${text}T00:00:00Z`));
    case "date-time":
      return new Timestamp(parseTimestamp(text));
    default:
      return text;
  }
}
