// Validates an object of a custom kind: schema, scale, embedded objects, lists that are sets or maps,
// and rules. Rules do not run on objects whose shape is wrong.

import { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { CustomChange, ScalePaths } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { Correlation } from "./correlation.ts";
import { checkEmbedded } from "./embedded-resources.ts";
import { childPath, keyPath, noPath } from "./field-paths.ts";
import type { JsonSchema } from "./json-schema.ts";
import { buildRules, checkRules, type RuleTree, ruleTypesOf } from "./rules.ts";
import { checkValue, reportFailures } from "./value-validation.ts";

export class ObjectRules {
  readonly #schema: JsonSchema;
  readonly #scale: ScalePaths | undefined;
  /** Built when first needed: most servers see no object of most kinds. */
  #rules: { readonly tree: RuleTree | undefined } | undefined;

  constructor(schema: JsonSchema, scale: ScalePaths | undefined) {
    this.#schema = schema;
    this.#scale = scale;
  }

  checkNew(object: KubeObject, errors: FieldErrors): void {
    reportFailures(checkValue(this.#schema, object), "", errors);
    this.#checkScale(object, errors);
    checkEmbedded(object, this.#schema, errors);
    checkListTypes(this.#schema, object, "", errors);
    this.#runRules(object, undefined, undefined, errors);
  }

  checkChange({ object, current, isStatus }: CustomChange, errors: FieldErrors): void {
    const before = new Correlation(object, current, this.#schema);
    if (isStatus) this.#checkStatus(object, before, errors);
    else {
      reportFailures(checkValue(this.#schema, object, before), "", errors);
      this.#checkScale(object, errors);
      checkEmbedded(object, this.#schema, errors);
    }
    if (!this.#hasRepeated(current)) checkListTypes(this.#schema, object, "", errors);
    this.#runRules(object, current, before, errors);
  }

  #checkStatus(object: KubeObject, before: Correlation, errors: FieldErrors): void {
    const schema = this.#schema.properties.get("status");
    if (schema !== undefined && Object.hasOwn(object, "status")) {
      const failures = checkValue(schema, object["status"], before.field("status"));
      reportFailures(failures, "status", errors);
    }
    if (this.#scale !== undefined) checkScaleStatus(object, this.#scale, errors);
  }

  #checkScale(object: KubeObject, errors: FieldErrors): void {
    if (this.#scale === undefined) return;
    checkScaleSpec(object, this.#scale, errors);
    checkScaleStatus(object, this.#scale, errors);
  }

  /** Items that were repeated before may stay repeated. */
  #hasRepeated(current: KubeObject): boolean {
    const old = new FieldErrors();
    checkListTypes(this.#schema, current, "", old);
    return old.causes.length > 0;
  }

  #runRules(
    object: KubeObject,
    current: KubeObject | undefined,
    before: Correlation | undefined,
    errors: FieldErrors,
  ): void {
    this.#rules ??= {
      tree: buildRules(this.#schema, ruleTypesOf(this.#schema, { isResource: true })),
    };
    const { tree } = this.#rules;
    if (tree === undefined) return;
    if (errors.causes.some(({ reason }) => blocking.has(reason))) {
      const detail =
        "some validation rules were not checked because the object was invalid; " +
        "correct the existing errors to complete validation";
      errors.invalid(noPath, null, detail);
      return;
    }
    const subject = { value: object, old: current, path: "", before, parentIsSame: false };
    checkRules(tree, subject, errors);
  }
}

/** Causes after which rules do not run. */
const blocking: ReadonlySet<string> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

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

const int32Max = 2 ** 31 - 1;

function checkScaleSpec(object: KubeObject, scale: ScalePaths, errors: FieldErrors): void {
  checkReplicas(object, scale.specReplicas, errors);
}

function checkScaleStatus(object: KubeObject, scale: ScalePaths, errors: FieldErrors): void {
  checkReplicas(object, scale.statusReplicas, errors);
  const { labelSelector } = scale;
  if (labelSelector === undefined) return;
  const value = nested(object, labelSelector, errors, "");
  if (value !== undefined && typeof value !== "string") {
    errors.invalid(pathOf(labelSelector), "", mismatch(labelSelector, value, "string"));
  }
}

function checkReplicas(object: KubeObject, steps: readonly string[], errors: FieldErrors): void {
  const value = nested(object, steps, errors, 0);
  if (value === undefined) return;
  const path = pathOf(steps);
  if (typeof value !== "number" || !Number.isInteger(value)) {
    errors.invalid(path, 0, mismatch(steps, value, "int64"));
  } else if (value < 0) {
    errors.invalid(path, value, "should be a non-negative integer");
  } else if (value > int32Max) {
    errors.invalid(path, value, `should be less than or equal to ${int32Max}`);
  }
}

/** As messages show the path of a definition: with the dot it begins with. */
function pathOf(steps: readonly string[]): string {
  return `.${steps.join(".")}`;
}

/** Undefined when it is absent or cannot be reached; the latter is reported. */
function nested(
  object: KubeObject,
  steps: readonly string[],
  errors: FieldErrors,
  zero: unknown,
): unknown {
  let value: unknown = object;
  for (const step of steps) {
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) {
      errors.invalid(pathOf(steps), zero, mismatch(steps, value, "map[string]interface{}"));
      return undefined;
    }
    value = value[step];
  }
  return value;
}

function mismatch(steps: readonly string[], value: unknown, expected: string): string {
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  return `${pathOf(steps)} accessor error: ${shown} is of the type ${goTypeOf(value)}, expected ${expected}`;
}

function goTypeOf(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : "string";
}
