// Strategic merge patch: a merge patch that knows, from the schema, which lists are merged by a key
// instead of replaced, and understands the `$patch`, `$retainKeys`, `$setElementOrder/…` and
// `$deleteFromPrimitiveList/…` directives that kubectl writes.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { Schema } from "../kinds/schema.ts";
import { schemas } from "../kinds/schemas.generated.ts";

/** The patch contradicts the schema or itself. */
export class StrategicPatchError extends Error {
  override readonly name = "StrategicPatchError";
  readonly code = "STRATEGIC_PATCH";
}

const orderPrefix = "$setElementOrder/";
const deletePrefix = "$deleteFromPrimitiveList/";

export function applyStrategicMergePatch(
  typeName: string,
  document: unknown,
  patch: unknown,
): unknown {
  return mergeObject({ type: "ref", to: typeName }, document, patch);
}

function mergeObject(schema: Schema | undefined, document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) {
    throw new StrategicPatchError(`expected an object in the patch, got ${JSON.stringify(patch)}`);
  }
  const { $patch: directive, $retainKeys: retained, ...changes } = patch;
  if (directive === "replace") {
    return withoutDirectives(changes);
  }
  if (directive === "delete") {
    return {};
  }
  if (directive !== undefined && directive !== "merge") {
    throw new StrategicPatchError(`Unknown patch directive: ${JSON.stringify(directive)}`);
  }
  const result = retain(isJsonObject(document) ? document : {}, retained);
  for (const [field, value] of Object.entries(changes)) {
    if (!field.startsWith("$")) {
      mergeField(fieldSchema(schema, field), result, field, value);
    }
  }
  for (const [directiveField, value] of Object.entries(changes)) {
    applyListDirective(schema, result, directiveField, value);
  }
  return result;
}

function mergeField(
  schema: Schema | undefined,
  result: JsonObject,
  field: string,
  value: unknown,
): void {
  if (value === null) {
    delete result[field];
  } else if (isJsonObject(value)) {
    result[field] = mergeObject(schema, result[field], value);
  } else if (Array.isArray(value) && isMergedList(schema)) {
    result[field] = mergeList(schema, result[field], value);
  } else {
    result[field] = value;
  }
}

type ArraySchema = Extract<Schema, { type: "array" }>;

function isMergedList(schema: Schema | undefined): schema is ArraySchema {
  return schema?.type === "array" && (schema.patchStrategy?.includes("merge") ?? false);
}

function mergeList(schema: ArraySchema, document: unknown, patch: readonly unknown[]): unknown[] {
  const current: unknown[] = Array.isArray(document) ? [...document] : [];
  const { mergeKey } = schema;
  if (mergeKey === undefined) {
    return [...current, ...patch.filter((item) => !current.includes(item))];
  }
  if (patch.some((item) => isJsonObject(item) && item["$patch"] === "replace")) {
    return patch.filter((item) => isJsonObject(item) && item["$patch"] !== "replace");
  }
  let result = current;
  for (const item of patch) {
    if (!isJsonObject(item) || item[mergeKey] === undefined) {
      throw new StrategicPatchError(
        `map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`,
      );
    }
    result = mergeElement(schema, result, item, mergeKey);
  }
  return result;
}

function mergeElement(
  schema: ArraySchema,
  list: unknown[],
  item: JsonObject,
  mergeKey: string,
): unknown[] {
  const isSame = (other: unknown) => isJsonObject(other) && other[mergeKey] === item[mergeKey];
  if (item["$patch"] === "delete") {
    return list.filter((other) => !isSame(other));
  }
  const index = list.findIndex(isSame);
  return index < 0
    ? [...list, mergeObject(schema.of, {}, item)]
    : list.with(index, mergeObject(schema.of, list[index], item));
}

function applyListDirective(
  schema: Schema | undefined,
  result: JsonObject,
  directive: string,
  value: unknown,
): void {
  if (directive.startsWith(deletePrefix)) {
    const field = directive.slice(deletePrefix.length);
    const list = result[field];
    if (Array.isArray(list) && Array.isArray(value)) {
      result[field] = list.filter((item: unknown) => !value.includes(item));
    }
  } else if (directive.startsWith(orderPrefix)) {
    const field = directive.slice(orderPrefix.length);
    const list = result[field];
    if (Array.isArray(list) && Array.isArray(value)) {
      const listSchema = fieldSchema(schema, field);
      const mergeKey = listSchema?.type === "array" ? listSchema.mergeKey : undefined;
      result[field] = inOrder(list, value, mergeKey);
    }
  }
}

/** The elements named in `order` come in that order; the others keep their place before them. */
function inOrder(
  list: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const keyOf = (item: unknown) =>
    mergeKey !== undefined && isJsonObject(item) ? item[mergeKey] : item;
  const ranks = new Map(order.map((item, index) => [keyOf(item), index]));
  const ranked = list
    .filter((item) => ranks.has(keyOf(item)))
    .sort((a, b) => (ranks.get(keyOf(a)) ?? 0) - (ranks.get(keyOf(b)) ?? 0));
  return list.map((item) => (ranks.has(keyOf(item)) ? ranked.shift() : item));
}

function retain(document: JsonObject, retained: unknown): JsonObject {
  if (!Array.isArray(retained)) {
    return { ...document };
  }
  return Object.fromEntries(Object.entries(document).filter(([key]) => retained.includes(key)));
}

function fieldSchema(schema: Schema | undefined, field: string): Schema | undefined {
  if (schema?.type === "map") {
    return schema.of;
  }
  return schema?.type === "ref" ? schemas[schema.to]?.fields[field] : undefined;
}

function withoutDirectives(changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(changes).filter(([field]) => !field.startsWith("$")));
}
