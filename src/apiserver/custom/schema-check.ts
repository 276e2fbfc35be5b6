// Checks every schema of a definition, keyword by keyword: what Kubernetes does not support, what
// contradicts itself, and the rules. Whether it is structural is checked elsewhere.
import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, objectAt, valueAt } from "../kinds/fields.ts";
import { childPath, keyPath } from "./field-path.ts";
import { type JsonSchema, readSchema, someSchema } from "./json-schema.ts";
import { checkListKeywords, checkMapKeywords } from "./merge-keywords-check.ts";
import { checkRuleExpressions, checkRuleTexts } from "./rules.ts";
import { propertyPath } from "./structural-check.ts";

/** What the schemas above say about the one that is looked at. */
export interface SchemaContext {
  /** Why there may be no default; undefined when there may. */
  readonly noDefaults: string | undefined;
  /** In the type or metadata of a resource. */
  readonly isInMeta: boolean;
  /** The schema from which on items cannot be told apart before and after a change. */
  readonly uncorrelatable: string | undefined;
  /** Rules are compiled only where the whole schema is structural. */
  readonly compilesRules: boolean;
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
  if (schema.rules.length > 0 && isSound && context.compilesRules) {
    checkRuleExpressions(schema, path, context, errors);
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
  const nested = { ...inner, compilesRules: false };
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
