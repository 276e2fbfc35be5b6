// Removes from an object what its schema does not know, and nulls where the schema allows none.
// Nothing is removed below `x-kubernetes-preserve-unknown-fields`, except where a schema below it
// speaks again. The objects given are changed: they are the caller's own copy.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { childPath, keyPath } from "./field-path.ts";
import { fieldSchema, type JsonSchema } from "./json-schema.ts";

/** Kept in every resource, embedded or not, whatever its schema says. */
const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** Gives the paths of what was removed, in order of their names. */
export function pruneObject(object: JsonObject, schema: JsonSchema): readonly string[] {
  const removed: string[] = [];
  prune(object, { ...schema, isEmbeddedResource: true }, { path: "", removed });
  return removed.sort();
}

/** As far as a value alone can be pruned: a default in a schema. */
export function pruneValue(value: unknown, schema: JsonSchema): readonly string[] {
  const removed: string[] = [];
  prune(value, schema, { path: "", removed });
  return removed;
}

/** A null that may not be one goes, unless a default will take its place. */
export function pruneNulls(value: unknown, schema: JsonSchema | undefined): void {
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
