// Validates the schemas of a definition, keyword by keyword: unsupported keywords, contradictions, the
// keywords of merging, rules, and defaults. structural-schema.ts checks that they are structural.

import { isDeepStrictEqual } from "node:util";
import { FieldErrors } from "../kinds/field-errors.ts";
import { copyOf, isJsonObject, objectAt, valueAt } from "../kinds/fields.ts";
import type { RuleTypes } from "./cel.ts";
import { pruneValue } from "./conforming.ts";
import { checkEmbedded } from "./embedded-resources.ts";
import { childPath, keyPath, noPath, propertyPath } from "./field-paths.ts";
import { type JsonSchema, readSchema, someSchema } from "./json-schema.ts";
import { buildRules, checkRuleExpressions, checkRules, checkRuleTexts } from "./rules.ts";
import { checkValue, reportFailures } from "./value-validation.ts";

/** From the schemas above. */
interface SchemaContext {
  /** The reason why defaults are forbidden; undefined when they are allowed. */
  readonly noDefaults: string | undefined;
  /** In the type or metadata of a resource. */
  readonly isInMeta: boolean;
  /** The schema from which on old and new items cannot be matched; undefined when they can. */
  readonly uncorrelatable: string | undefined;
  /** Undefined where rules are not compiled: the schema has none, or is not structural. */
  readonly types: RuleTypes | undefined;
  readonly isRoot: boolean;
}

const types = ["array", "boolean", "integer", "number", "object", "string"];
const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

export function checkSchema(
  schema: JsonSchema,
  path: string,
  context: SchemaContext,
  errors: FieldErrors,
): void {
  const own = new FieldErrors();
  checkOwnKeywords(schema, path, context, own);
  const below = new FieldErrors();
  checkBelow(schema, path, context, below);
  errors.include(own.causes);
  errors.include(below.causes);
  const late = new FieldErrors();
  checkMapKeywords(schema, path, late);
  checkListKeywords(schema, path, late);
  checkRuleTexts(schema, path, late);
  errors.include(late.causes);
  const isSound = own.causes.length + below.causes.length + late.causes.length === 0;
  const { types, uncorrelatable } = context;
  if (schema.rules.length > 0 && isSound && types !== undefined) {
    checkRuleExpressions(schema, path, { types, uncorrelatable }, errors);
  }
}

function checkOwnKeywords(
  schema: JsonSchema,
  path: string,
  context: SchemaContext,
  errors: FieldErrors,
): void {
  const { raw, type } = schema;
  const isAllowedType = type === "" || types.includes(type);
  if (!isAllowedType) errors.notSupported(childPath(path, "type"), type, types);
  if (schema.default !== undefined && context.noDefaults !== undefined) {
    const detail = `must not be set ${context.noDefaults}`.trim();
    errors.forbidden(childPath(path, "default"), detail);
  }
  for (const keyword of ["id", "additionalItems", "patternProperties", "definitions"]) {
    if (isSet(raw[keyword])) {
      errors.forbidden(childPath(path, keyword), `${keyword} is not supported`);
    }
  }
  for (const keyword of ["dependencies", "$ref"]) {
    if (raw[keyword] !== undefined) {
      errors.forbidden(childPath(path, keyword), `${keyword} is not supported`);
    }
  }
  if (type === "null") {
    const detail = "type cannot be set to null, use nullable as an alternative";
    errors.forbidden(childPath(path, "type"), detail);
  }
  if (Array.isArray(raw["items"])) {
    const detail = "items must be a schema object and not an array";
    errors.forbidden(childPath(path, "items"), detail);
  }
  if (context.isInMeta && schema.isEmbeddedResource) {
    const place = childPath(path, "x-kubernetes-embedded-resource");
    errors.forbidden(place, "must not be used inside of resource meta");
  }
  if (schema.uniqueItems) {
    const detail =
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.forbidden(childPath(path, "uniqueItems"), detail);
  }
  if (schema.properties.size > 0 && schema.additionalProperties !== undefined) {
    if (schema.additionalProperties !== true) {
      const detail = "additionalProperties and properties are mutual exclusive";
      errors.forbidden(childPath(path, "additionalProperties"), detail);
    }
  }
  if (raw["x-kubernetes-preserve-unknown-fields"] === false) {
    const place = childPath(path, "x-kubernetes-preserve-unknown-fields");
    errors.invalid(place, false, "must be true or undefined");
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && !(isJsonObject(value) && Object.keys(value).length === 0);
}

function checkBelow(
  schema: JsonSchema,
  path: string,
  context: SchemaContext,
  errors: FieldErrors,
): void {
  const inner = { ...context, isRoot: false };
  const { additionalProperties, items, not } = schema;
  if (typeof additionalProperties === "object") {
    const reason = "inside additionalProperties applying to object metadata";
    const below = inner.isInMeta ? { ...inner, noDefaults: reason } : inner;
    checkSchema(additionalProperties, childPath(path, "additionalProperties"), below, errors);
  }
  for (const [name, property] of schema.properties) {
    const below = propertyContext(schema, name, context);
    checkSchema(property, propertyPath(path, name), below, errors);
  }
  const nested = { ...inner, types: undefined };
  if (not !== undefined) checkSchema(not, childPath(path, "not"), nested, errors);
  for (const [keyword, parts] of Object.entries({
    allOf: schema.allOf,
    oneOf: schema.oneOf,
    anyOf: schema.anyOf,
  })) {
    for (const [index, part] of parts.entries()) {
      checkSchema(part, keyPath(childPath(path, keyword), index), nested, errors);
    }
  }
  for (const [name, raw] of Object.entries(objectAt(schema.raw, "definitions") ?? {})) {
    if (isJsonObject(raw)) {
      checkSchema(readSchema(raw), keyPath(childPath(path, "definitions"), name), nested, errors);
    }
  }
  if (items !== undefined) {
    const uncorrelatable = inner.uncorrelatable ?? (schema.listType === "map" ? undefined : path);
    checkSchema(items, childPath(path, "items"), { ...inner, uncorrelatable }, errors);
  }
}

function propertyContext(schema: JsonSchema, name: string, context: SchemaContext): SchemaContext {
  const { isRoot } = context;
  const inner = { ...context, isRoot: false };
  if (!(isRoot || schema.isEmbeddedResource) || !metaFields.has(name)) return inner;
  const noDefaults = isRoot ? `in top-level ${name}` : inner.noDefaults;
  return { ...inner, isInMeta: true, noDefaults };
}

const unsupportedKeywords = [
  "id",
  "$schema",
  "$ref",
  "patternProperties",
  "dependencies",
  "additionalItems",
  "definitions",
];

/** The first keyword that keeps the schema, or one below it, from being structural at all. */
export function unsupportedKeyword(schema: JsonSchema): string | undefined {
  let found: string | undefined;
  someSchema(schema, ({ raw }) => {
    found = Array.isArray(raw["items"])
      ? "items"
      : unsupportedKeywords.find((keyword) => isSet(valueAt(raw, keyword)));
    return found !== undefined;
  });
  return found;
}

function checkMapKeywords(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { mapType } = schema;
  if (mapType === "") return;
  requireType(schema, "object", "x-kubernetes-map-type", path, errors);
  if (!["atomic", "granular"].includes(mapType)) {
    const place = childPath(path, "x-kubernetes-map-type");
    errors.notSupported(place, mapType, ["atomic", "granular"]);
  }
}

function checkListKeywords(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { listType, listMapKeys, items } = schema;
  const typePath = childPath(path, "x-kubernetes-list-type");
  if (listType !== "") {
    requireType(schema, "array", "x-kubernetes-list-type", path, errors);
    if (schema.type === "array" && listType === "set") checkSetItems(items, path, errors);
    if (!["atomic", "set", "map"].includes(listType)) {
      errors.notSupported(typePath, listType, ["atomic", "set", "map"]);
    }
  }
  if (listMapKeys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (listType === "") errors.required(typePath, detail);
    else errors.invalid(typePath, listType, detail);
  }
  if (listType === "map") checkListMap(schema, path, errors);
  if (listType === "map" || listType === "set") checkNullable(schema, path, errors);
}

function requireType(
  { type }: JsonSchema,
  expected: string,
  keyword: string,
  path: string,
  errors: FieldErrors,
): void {
  if (type === expected) return;
  const detail = `must be ${expected} if ${keyword} is specified`;
  if (type === "") errors.required(childPath(path, "type"), detail);
  else errors.invalid(childPath(path, "type"), type, detail);
}

/** Items of a set are compared as a whole. */
function checkSetItems(items: JsonSchema | undefined, path: string, errors: FieldErrors): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const place = childPath(path, "items");
  if (items?.type === "array" && !["", "atomic"].includes(items.listType)) {
    errors.invalid(childPath(place, "x-kubernetes-list-type"), items.listType, detail);
  }
  if (items?.type === "object" && items.mapType !== "atomic") {
    errors.invalid(childPath(place, "x-kubernetes-map-type"), items.listType || null, detail);
  }
}

function checkListMap(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { listMapKeys, items } = schema;
  const keysPath = childPath(path, "x-kubernetes-list-map-keys");
  const itemsPath = childPath(path, "items");
  if (listMapKeys.length === 0) {
    errors.required(keysPath, "must not be empty if x-kubernetes-list-type is map");
  }
  if (items === undefined) {
    errors.required(itemsPath, "must have a schema if x-kubernetes-list-type is map");
    return;
  }
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.invalid(childPath(itemsPath, "type"), items.type, detail);
    return;
  }
  for (const [index, key] of listMapKeys.entries()) {
    const property = items.properties.get(key);
    if (property === undefined) {
      errors.invalid(keysPath, listMapKeys, "entries must all be names of item properties");
    } else if (property.type === "array" || property.type === "object") {
      const place = childPath(keyPath(childPath(itemsPath, "properties"), key), "type");
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.invalid(place, items.type, detail);
    }
    if (listMapKeys.indexOf(key) < index) {
      errors.invalid(keysPath, listMapKeys, "must not contain duplicate entries");
    }
  }
}

function checkNullable(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const { items, listType, listMapKeys } = schema;
  if (items === undefined) return;
  const place = childPath(path, "items");
  if (items.nullable) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.forbidden(childPath(place, "nullable"), detail);
  }
  if (listType !== "map") return;
  for (const key of listMapKeys) {
    const property = items.properties.get(key);
    if (property === undefined) continue;
    const own = keyPath(childPath(place, "properties"), key);
    const reason = "this property is in x-kubernetes-list-map-keys, so it";
    if (!items.required.includes(key) && property.default === undefined) {
      const detail = `${reason} must have a default or be a required property`;
      errors.required(childPath(own, "default"), detail);
    }
    if (property.nullable)
      errors.forbidden(childPath(own, "nullable"), `${reason} cannot be nullable`);
  }
}

export function checkDefaults(
  schema: JsonSchema,
  path: string,
  types: RuleTypes | undefined,
  errors: FieldErrors,
): void {
  if (schema.default !== undefined) checkDefault(schema, childPath(path, "default"), types, errors);
  const { items, properties } = schema;
  if (items !== undefined) checkDefaults(items, childPath(path, "items"), types, errors);
  for (const [name, property] of properties) {
    checkDefaults(property, propertyPath(path, name), types, errors);
  }
}

function checkDefault(
  schema: JsonSchema,
  path: string,
  types: RuleTypes | undefined,
  errors: FieldErrors,
): void {
  const value = schema.default;
  const pruned = copyOf(value);
  pruneValue(pruned, schema);
  if (!isDeepStrictEqual(pruned, value)) {
    errors.invalid(path, value, "must not have unknown fields");
  }
  const embedded = new FieldErrors();
  checkEmbedded(value, schema, embedded);
  if (embedded.causes.length > 0) {
    errors.include(embedded.causes, `${path}.`);
    return;
  }
  const failures = checkValue(schema, value);
  reportFailures(failures, path, errors);
  const rules = failures.length > 0 ? undefined : buildRules(schema, types);
  if (rules === undefined) return;
  for (const old of [value, undefined]) {
    const found = new FieldErrors();
    const subject = { value, old, path: "", before: undefined, parentIsSame: false };
    checkRules(rules, subject, found);
    errors.include(
      found.causes.map((cause) => ({
        ...cause,
        field: cause.field === noPath ? path : childPath(path, cause.field ?? ""),
      })),
    );
    if (found.causes.length > 0) return;
  }
}
