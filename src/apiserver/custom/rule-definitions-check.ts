// The rules in a schema as they are written: their texts, whether they compile, and whether they
// compare with a state before where there is one to compare with.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { times } from "./cel/value-sizes.ts";
import { childPath, keyPath } from "./field-path.ts";
import { shownRule } from "./internal-form.ts";
import type { JsonSchema, ValidationRule } from "./json-schema.ts";
import type { RuleBudget } from "./rule-budget.ts";
import { compileRules } from "./rule-compile.ts";
import { followPath } from "./rule-paths.ts";
import { cardinalityInRequest, schemaSizes } from "./rule-sizes.ts";
import { ruleType } from "./rule-types.ts";

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

export function checkRuleTexts(schema: JsonSchema, path: string, errors: FieldErrors): void {
  for (const [index, rule] of schema.rules.entries()) {
    const place = rulePath(path, index);
    checkMessage(rule, place, errors);
    if (rule.messageExpression !== "" && rule.messageExpression.trim() === "") {
      const detail = "messageExpression must be non-empty if specified";
      errors.required(childPath(place, "messageExpression"), detail);
    }
    if (rule.reason !== undefined && !reasons.includes(rule.reason)) {
      errors.notSupported(childPath(place, "reason"), rule.reason, reasons);
    }
    checkFieldPath(schema, rule, childPath(place, "fieldPath"), errors);
  }
}

export interface RuleContext {
  readonly isRoot: boolean;
  readonly uncorrelatable: string | undefined;
  /** How many values of the schema one object can have; undefined: nothing bounds it. */
  readonly cardinality: number | undefined;
  readonly budget: RuleBudget;
}

export function compileAndReport(
  schema: JsonSchema,
  path: string,
  context: RuleContext,
  errors: FieldErrors,
): void {
  const isResource = context.isRoot || schema.isEmbeddedResource;
  const type = ruleType(schema, "self", isResource);
  if (type === undefined) {
    const detail = "failed to convert to declType for CEL validation rules";
    errors.invalid(childPath(path, "x-kubernetes-validations"), "", detail);
    return;
  }
  const cardinality = context.cardinality ?? cardinalityInRequest(schema, isResource);
  const self = schemaSizes(schema, isResource);
  const sizes = new Map([
    ["self", self],
    ["oldSelf", self],
  ]);
  for (const [index, compiled] of compileRules(schema, type).entries()) {
    const { rule, program, problem, message, messageProblem, usesOldSelf } = compiled;
    const place = rulePath(path, index);
    const cost = times(program?.maxCost(sizes) ?? 0, cardinality);
    context.budget.spend(childPath(place, "rule"), "rule", cost, errors);
    if (message !== undefined) {
      const messagePath = childPath(place, "messageExpression");
      context.budget.spend(messagePath, "messageExpression", message.maxCost(sizes), errors);
    }
    if (problem !== undefined)
      errors.invalid(childPath(place, "rule"), shownRule(rule.raw), problem);
    if (messageProblem !== undefined) {
      errors.invalid(childPath(place, "messageExpression"), shownRule(rule.raw), messageProblem);
    }
    if (usesOldSelf && context.uncorrelatable !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${context.uncorrelatable}`;
      errors.invalid(childPath(place, "rule"), rule.rule, detail);
    }
    if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      errors.invalid(childPath(place, "optionalOldSelf"), rule.optionalOldSelf, detail);
    }
  }
}

function rulePath(path: string, index: number): string {
  return keyPath(childPath(path, "x-kubernetes-validations"), index);
}

function checkMessage({ rule, message }: ValidationRule, place: string, errors: FieldErrors): void {
  const messagePath = childPath(place, "message");
  if (rule.trim() === "") {
    errors.required(childPath(place, "rule"), "rule is not specified");
  } else if (message !== "" && message.trim() === "") {
    errors.invalid(messagePath, message, "must be non-empty if specified");
  } else if (hasLineBreak(message.trim())) {
    errors.invalid(messagePath, message, "must not contain line breaks");
  } else if (hasLineBreak(rule.trim()) && message.trim() === "") {
    errors.required(messagePath, "message must be specified if rule contains line breaks");
  }
}

function checkFieldPath(
  schema: JsonSchema,
  { fieldPath }: ValidationRule,
  place: string,
  errors: FieldErrors,
): void {
  if (fieldPath === "") return;
  if (fieldPath.trim() === "") errors.invalid(place, fieldPath, "must be non-empty if specified");
  if (hasLineBreak(fieldPath)) errors.invalid(place, fieldPath, "must not contain line breaks");
  if ("problem" in followPath(fieldPath, schema, { allowsBrackets: true })) {
    errors.invalid(place, fieldPath, "must be a valid path");
  }
}

function hasLineBreak(text: string): boolean {
  return /[\n\r]/.test(text);
}
