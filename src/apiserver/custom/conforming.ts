// Brings an object of a custom kind into the shape of its schema, as `decode/conform.ts` does for the
// built-in kinds: unknown fields and forbidden nulls are removed, defaults are filled in.
import { type Conformed, conform } from "../decode/conform.ts";
import {
  copyJson,
  copyOf,
  isJsonObject,
  type JsonObject,
  ownField,
  setField,
} from "../kinds/fields.ts";
import { cleanEmbedded } from "./embedded-resources.ts";
import { childPath, keyPath } from "./field-paths.ts";
import { fieldSchema, type JsonSchema } from "./json-schema.ts";

/** Removes unknown fields of the object, of its metadata, and of embedded objects. */
export function conformTo(schema: JsonSchema, document: JsonObject): Conformed {
  const value = copyJson(document);
  const unknownFields: string[] = [];
  if (value["metadata"] !== undefined && value["metadata"] !== null) {
    const metadata = conform("meta.v1.ObjectMeta", value["metadata"]);
    unknownFields.push(...metadata.unknownFields.map((field) => `metadata.${field}`));
    value["metadata"] = metadata.value;
  }
  unknownFields.push(...pruneObject(value, schema));
  pruneNulls(value, schema);
  unknownFields.push(...cleanEmbedded(value, schema));
  return { value, unknownFields };
}

/** Kept in every resource, embedded or not, even if its schema lacks them. */
const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** Returns the paths of removed fields, sorted. */
function pruneObject(object: JsonObject, schema: JsonSchema): readonly string[] {
  const removed: string[] = [];
  prune(object, { ...schema, isEmbeddedResource: true }, { path: "", removed });
  return removed.sort();
}

/** For a value that is not a resource: a default in a schema. */
export function pruneValue(value: unknown, schema: JsonSchema): readonly string[] {
  const removed: string[] = [];
  prune(value, schema, { path: "", removed });
  return removed;
}

/** Removes nulls of fields that are not nullable, unless a default replaces them. */
function pruneNulls(value: unknown, schema: JsonSchema | undefined): void {
  if (Array.isArray(value)) {
    for (const item of value) pruneNulls(item, schema?.items);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const field of Object.keys(value)) {
    const own = schema && fieldSchema(schema, field);
    const isForbidden = value[field] === null && own?.nullable === false;
    if (isForbidden && own.default === undefined) delete value[field];
    else pruneNulls(value[field], own);
  }
}

interface Pruning {
  readonly path: string;
  readonly removed: string[];
}

function prune(value: unknown, schema: JsonSchema | undefined, at: Pruning): void {
  if (schema?.preservesUnknownFields === true) {
    keep(value, schema, at);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      prune(item, schema?.items, { ...at, path: keyPath(at.path, index) });
    }
  } else if (isJsonObject(value)) {
    pruneFields(value, schema, at);
  }
}

function pruneFields(object: JsonObject, schema: JsonSchema | undefined, at: Pruning): void {
  for (const field of Object.keys(object)) {
    if (schema?.isEmbeddedResource === true && metaFields.has(field)) continue;
    const path = childPath(at.path, field);
    if (schema?.properties.has(field) === true || schema?.additionalProperties !== undefined) {
      prune(object[field], fieldSchema(schema, field), { ...at, path });
    } else {
      if (!metaFields.has(field) || at.path !== "") at.removed.push(path);
      delete object[field];
    }
  }
}

function keep(value: unknown, schema: JsonSchema | undefined, at: Pruning): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      keep(item, schema.items, { ...at, path: keyPath(at.path, index) });
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const field of Object.keys(value)) {
    if (schema.isEmbeddedResource && metaFields.has(field)) continue;
    if (!schema.properties.has(field) && schema.additionalProperties === undefined) continue;
    prune(value[field], fieldSchema(schema, field), { ...at, path: childPath(at.path, field) });
  }
}

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
