// Checks that a schema is structural: every field is specified outside of allOf, anyOf, oneOf and not,
// so that unknown fields can be pruned and absent ones defaulted. The refusals are those of
// apiextensions' ValidateStructural, in the order of their texts.

import { isDeepStrictEqual } from "node:util";
import { FieldErrors } from "../kinds/field-errors.ts";
import { childPath, keyPath, propertyPath } from "./field-paths.ts";
import { patternProblem } from "./go-texts.ts";
import type { JsonSchema } from "./json-schema.ts";

export function checkStructural(schema: JsonSchema, path: string, errors: FieldErrors): void {
  const found = new FieldErrors();
  checkInvariants(schema, "root", path, found);
  checkCompleteness(schema, schema, { schema: path, keyword: path }, found);
  const byText = [...found.causes].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
  errors.include(byText);
}

type Level = "root" | "item" | "field";

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function checkInvariants(
  schema: JsonSchema,
  level: Level,
  path: string,
  errors: FieldErrors,
): void {
  const { items, properties, additionalProperties } = schema;
  if (schema.type === "array" && items === undefined) {
    errors.required(childPath(path, "items"), "must be specified");
  }
  if (items !== undefined) checkInvariants(items, "item", childPath(path, "items"), errors);
  for (const [name, property] of properties) {
    checkInvariants(property, "field", propertyPath(path, name), errors);
  }
  if (additionalProperties !== undefined) {
    const place = childPath(path, "additionalProperties");
    if (level === "root") errors.forbidden(place, "must not be used at the root");
    if (typeof additionalProperties === "object") {
      checkInvariants(additionalProperties, "field", place, errors);
    }
  }
  checkExtensions(schema, path, errors);
  const isIntOrString = isEitherType(schema.anyOf);
  const [first] = schema.allOf;
  const isAllOfIntOrString = first !== undefined && isEitherType(first.anyOf);
  checkValueKeywords(schema, { isIntOrString, isAllOfIntOrString }, path, errors);
  checkOwnType(schema, level, path, errors);
  checkMetaFields(schema, level, path, errors);
}

/** `anyOf: [{type: integer}, {type: string}]`, which is allowed with int-or-string. */
function isEitherType(anyOf: readonly JsonSchema[]): boolean {
  const raw = anyOf.map((schema) => schema.raw);
  return isDeepStrictEqual(raw, [{ type: "integer" }, { type: "string" }]);
}

function checkExtensions(schema: JsonSchema, path: string, errors: FieldErrors): void {
  if (!schema.isIntOrString) return;
  const detail = "must be false if x-kubernetes-int-or-string is true";
  if (schema.preservesUnknownFields) {
    errors.invalid(childPath(path, "x-kubernetes-preserve-unknown-fields"), true, detail);
  }
  if (schema.isEmbeddedResource) {
    errors.invalid(childPath(path, "x-kubernetes-embedded-resource"), true, detail);
  }
}

function checkOwnType(schema: JsonSchema, level: Level, path: string, errors: FieldErrors): void {
  const { type, isEmbeddedResource, preservesUnknownFields } = schema;
  const place = childPath(path, "type");
  if (isEmbeddedResource && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    if (type === "") errors.required(place, detail);
    else errors.invalid(place, type, detail);
  } else if (type === "" && !schema.isIntOrString && !preservesUnknownFields) {
    errors.required(place, missingType[level]);
  }
  if (isEmbeddedResource && schema.additionalProperties !== undefined) {
    const detail = "must not be used if x-kubernetes-embedded-resource is set";
    errors.forbidden(childPath(path, "additionalProperties"), detail);
  }
  if (level === "root" && type !== "" && type !== "object") {
    errors.invalid(place, type, "must be object at the root");
  }
  if (isEmbeddedResource && !preservesUnknownFields && schema.properties.size === 0) {
    errors.required(
      childPath(path, "properties"),
      "must not be empty if x-kubernetes-embedded-resource is true without " +
        "x-kubernetes-preserve-unknown-fields",
    );
  }
}

function checkMetaFields(
  schema: JsonSchema,
  level: Level,
  path: string,
  errors: FieldErrors,
): void {
  const isResource = level === "root" || schema.isEmbeddedResource;
  for (const name of ["kind", "apiVersion"]) {
    const property = schema.properties.get(name);
    if (isResource && property !== undefined && property.type !== "string") {
      errors.invalid(childPath(propertyPath(path, name), "type"), property.type, "must be string");
    }
  }
  const metadata = schema.properties.get("metadata");
  if (metadata === undefined) return;
  const place = propertyPath(path, "metadata");
  if (isResource && metadata.type !== "object") {
    errors.invalid(childPath(place, "type"), metadata.type, "must be object");
  }
  if (level === "root" && !restrictsNamesOnly(metadata)) {
    errors.forbidden(
      place,
      "must not specify anything other than name and generateName, but metadata is implicitly specified",
    );
  }
}

/** The metadata of the object itself may only have its names restricted. */
function restrictsNamesOnly(metadata: JsonSchema): boolean {
  const { type: _, default: __, properties = {}, ...others } = metadata.raw;
  const names = Object.keys(properties ?? {});
  return (
    Object.keys(others).length === 0 &&
    names.every((name) => name === "name" || name === "generateName")
  );
}

interface Places {
  readonly schema: string;
  readonly keyword: string;
}

/** Fields that a choice restricts must be specified outside of it. */
function checkCompleteness(
  keywords: JsonSchema,
  schema: JsonSchema,
  at: Places,
  errors: FieldErrors,
): void {
  const { not, allOf, anyOf, oneOf } = keywords;
  if (not !== undefined) {
    checkPart(not, schema, { ...at, keyword: childPath(at.keyword, "not") }, errors);
  }
  for (const [name, parts] of Object.entries({ allOf, anyOf, oneOf })) {
    for (const [index, part] of parts.entries()) {
      const keyword = keyPath(childPath(at.keyword, name), index);
      checkPart(part, schema, { ...at, keyword }, errors);
    }
  }
}

function checkPart(
  part: JsonSchema,
  schema: JsonSchema | undefined,
  at: Places,
  errors: FieldErrors,
): void {
  if (schema === undefined) {
    errors.required(at.schema, `because it is defined in ${at.keyword}`);
    return;
  }
  checkCompleteness(part, schema, at, errors);
  if (part.items !== undefined) {
    const below = {
      schema: childPath(at.schema, "items"),
      keyword: childPath(at.keyword, "items"),
    };
    checkPart(part.items, schema.items, below, errors);
  }
  for (const [name, property] of part.properties) {
    const below = {
      schema: propertyPath(at.schema, name),
      keyword: propertyPath(at.keyword, name),
    };
    checkPart(property, schema.properties.get(name), below, errors);
  }
}

function textOf(cause: { readonly field?: string; readonly message: string }): string {
  return `${cause.field}: ${cause.message}`;
}

/** Types in these two places mean int-or-string and are allowed. */
interface IntOrStringForms {
  readonly isIntOrString: boolean;
  readonly isAllOfIntOrString: boolean;
}

const noForm: IntOrStringForms = { isIntOrString: false, isAllOfIntOrString: false };

function checkValueKeywords(
  schema: JsonSchema,
  forms: IntOrStringForms,
  path: string,
  errors: FieldErrors,
): void {
  const { anyOf, allOf, oneOf, not, pattern } = schema;
  for (const [index, part] of (forms.isIntOrString ? [] : anyOf).entries()) {
    checkNested(part, noForm, keyPath(childPath(path, "anyOf"), index), errors);
  }
  for (const [index, part] of allOf.entries()) {
    const form = { ...noForm, isIntOrString: forms.isAllOfIntOrString && index === 0 };
    checkNested(part, form, keyPath(childPath(path, "allOf"), index), errors);
  }
  for (const [index, part] of oneOf.entries()) {
    checkNested(part, noForm, keyPath(childPath(path, "oneOf"), index), errors);
  }
  if (not !== undefined) checkNested(not, noForm, childPath(path, "not"), errors);
  const problem = pattern === "" ? undefined : patternProblem(pattern);
  if (problem !== undefined) {
    const detail = `must be a valid regular expression, but isn't: ${problem}`;
    errors.invalid(childPath(path, "pattern"), pattern, detail);
  }
}

function checkNested(
  schema: JsonSchema,
  forms: IntOrStringForms,
  path: string,
  errors: FieldErrors,
): void {
  checkValueKeywords(schema, forms, path, errors);
  if (schema.items !== undefined) {
    checkNested(schema.items, noForm, childPath(path, "items"), errors);
  }
  for (const [name, property] of schema.properties) {
    checkNested(property, noForm, keyPath(childPath(path, "properties"), name), errors);
  }
  for (const [keyword, rule] of forbiddenKeywords(schema)) {
    errors.forbidden(childPath(path, keyword), `must be ${rule} to be structural`);
  }
  if (schema.properties.has("metadata")) {
    const place = keyPath(childPath(path, "properties"), "metadata");
    errors.forbidden(place, "must not be specified in a nested context");
  }
}

type Rule = "empty" | "undefined" | "false";

function forbiddenKeywords(schema: JsonSchema): readonly (readonly [string, Rule])[] {
  const { raw, additionalProperties } = schema;
  const present: readonly (readonly [string, Rule, boolean])[] = [
    ["type", "empty", schema.type !== ""],
    [
      "additionalProperties",
      "undefined",
      additionalProperties !== undefined && additionalProperties !== false,
    ],
    ["default", "undefined", schema.default !== undefined],
    ["title", "empty", raw["title"] !== undefined],
    ["description", "empty", raw["description"] !== undefined],
    ["nullable", "false", schema.nullable],
    ["x-kubernetes-preserve-unknown-fields", "false", schema.preservesUnknownFields],
    ["x-kubernetes-embedded-resource", "false", schema.isEmbeddedResource],
    ["x-kubernetes-int-or-string", "false", schema.isIntOrString],
    ["x-kubernetes-list-map-keys", "empty", schema.listMapKeys.length > 0],
    ["x-kubernetes-list-type", "undefined", schema.listType !== ""],
    ["x-kubernetes-map-type", "undefined", schema.mapType !== ""],
    ["x-kubernetes-validations", "empty", schema.rules.length > 0],
  ];
  return present.filter(([, , isThere]) => isThere).map(([keyword, rule]) => [keyword, rule]);
}
