// What may stand inside allOf, anyOf, oneOf and not of a structural schema: restrictions of values,
// and nothing that would say which fields there are, what they default to or how they merge.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { childPath, keyPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";
import { patternProblem } from "./patterns.ts";

/** Types in these two places say the same as int-or-string and are allowed. */
export interface IntOrStringForms {
  readonly isIntOrString: boolean;
  readonly isAllOfIntOrString: boolean;
}

const noForm: IntOrStringForms = { isIntOrString: false, isAllOfIntOrString: false };

export function checkValueKeywords(
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

export function checkNested(
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
