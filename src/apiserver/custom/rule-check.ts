// Runs the rules of a schema on an object, level by level, within one budget for all of them. A
// rule that compares with the state before runs only where there is such a state.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { CelError, OptionalValue, type Value } from "./cel/values.ts";
import { type Correlation, counterpart } from "./correlation.ts";
import { childPath, keyPath, noPath } from "./field-path.ts";
import type { JsonSchema } from "./json-schema.ts";
import { type CompiledRule, compileRules } from "./rule-compile.ts";
import { evaluatedMessage, fixedMessage, ruleText } from "./rule-messages.ts";
import { ruleType } from "./rule-types.ts";
import { ruleValue } from "./rule-values.ts";

/** apiserver/pkg/apis/cel: for one rule, and for all rules on one object. */
export const ruleCostLimit = 1_000_000;
export const objectCostBudget = 10_000_000;

/** The rules of a schema and of those below it. */
export interface RuleTree {
  readonly schema: JsonSchema;
  readonly isResource: boolean;
  readonly rules: readonly CompiledRule[];
  readonly fields: ReadonlyMap<string, RuleTree>;
  readonly items: RuleTree | undefined;
  readonly additional: RuleTree | undefined;
}

/** Undefined when there is no rule anywhere below. */
export function buildRules(schema: JsonSchema, isResource: boolean): RuleTree | undefined {
  const type = ruleType(schema, "self", isResource);
  const rules = type === undefined ? [] : compileRules(schema, type);
  const fields = new Map<string, RuleTree>();
  for (const [name, own] of schema.properties) {
    const tree = buildRules(own, own.isEmbeddedResource);
    if (tree !== undefined) fields.set(name, tree);
  }
  const { items: itemSchema, additionalProperties } = schema;
  const items = itemSchema && buildRules(itemSchema, itemSchema.isEmbeddedResource);
  const additional =
    typeof additionalProperties === "object"
      ? buildRules(additionalProperties, additionalProperties.isEmbeddedResource)
      : undefined;
  const isEmpty = rules.length === 0 && fields.size === 0;
  if (isEmpty && items === undefined && additional === undefined) return undefined;
  return { schema, isResource, rules, fields, items, additional };
}

export interface RuleSubject {
  readonly value: unknown;
  /** Undefined when there was nothing. */
  readonly old: unknown;
  /** "" for the object itself. */
  readonly path: string;
  /** What the value was, for forgiving what has not changed; absent for new objects. */
  readonly before: Correlation | undefined;
  /** Whether something around the value has not changed at all, where it has no state before. */
  readonly parentIsSame: boolean;
}

export function checkRules(tree: RuleTree, subject: RuleSubject, errors: FieldErrors): void {
  new RuleCheck(errors).visit(tree, subject);
}

class RuleCheck {
  readonly #errors: FieldErrors;
  /** Negative once nothing more may run. */
  #budget = objectCostBudget;

  constructor(errors: FieldErrors) {
    this.#errors = errors;
  }

  visit(tree: RuleTree, subject: RuleSubject): void {
    const { value } = subject;
    if (value === null || value === undefined || this.#budget < 0) return;
    if (tree.rules.length > 0) this.#runRules(tree, subject);
    if (Array.isArray(value)) this.#visitItems(tree, value, subject);
    else if (isJsonObject(value)) this.#visitFields(tree, value, subject);
  }

  #visitItems(tree: RuleTree, list: readonly unknown[], subject: RuleSubject): void {
    if (tree.items === undefined) return;
    for (const [index, value] of list.entries()) {
      this.visit(tree.items, {
        value,
        old: counterpart(tree.schema, subject.old, value),
        path: keyPath(subject.path, index),
        before: subject.before?.item(index),
        parentIsSame: subject.before?.isSame ?? subject.parentIsSame,
      });
    }
  }

  #visitFields(tree: RuleTree, object: Record<string, unknown>, subject: RuleSubject): void {
    const old = isJsonObject(subject.old) ? subject.old : {};
    for (const [name, value] of Object.entries(object)) {
      const isNamed = tree.fields.has(name);
      const own = tree.fields.get(name) ?? tree.additional;
      if (own === undefined) continue;
      this.visit(own, {
        value,
        old: old[name],
        path: isNamed ? childPath(subject.path, name) : keyPath(subject.path, name),
        before: subject.before?.field(name),
        parentIsSame: subject.before?.isSame ?? subject.parentIsSame,
      });
    }
  }

  #runRules(tree: RuleTree, subject: RuleSubject): void {
    const { schema, isResource, rules } = tree;
    const self = this.#valueOf(subject.value, tree, subject.path);
    if (self === undefined) return;
    const hasOld = subject.old !== undefined && subject.old !== null;
    for (const compiled of rules) {
      if (this.#budget < 0) return;
      const isOptional = compiled.rule.optionalOldSelf === true;
      if (compiled.usesOldSelf && !hasOld && !isOptional) continue;
      const variables = new Map<string, Value>([["self", self]]);
      if (compiled.usesOldSelf) {
        const old = hasOld ? ruleValue(subject.old, schema, isResource) : undefined;
        variables.set("oldSelf", isOptional ? new OptionalValue(old) : (old ?? null));
      }
      this.#runRule(compiled, variables, schema, subject);
    }
  }

  #valueOf(value: unknown, { schema, isResource }: RuleTree, path: string): Value | undefined {
    try {
      return ruleValue(value, schema, isResource);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.#errors.invalid(shown(path), schema.type, error.message);
      return undefined;
    }
  }

  #runRule(
    compiled: CompiledRule,
    variables: ReadonlyMap<string, Value>,
    schema: JsonSchema,
    subject: RuleSubject,
  ): void {
    const { rule, program, problem } = compiled;
    const path = shown(subject.path);
    if (program === undefined) {
      if (problem !== undefined) {
        this.#errors.invalid(path, schema.type, `rule compile error: ${problem}`);
      }
      return;
    }
    const { value, error, cost } = program.run(variables, ruleCostLimit);
    if (cost > this.#budget) {
      this.#exhaust(
        path,
        schema.type,
        "validation failed due to running out of cost budget, no further validation rules will be run",
      );
      return;
    }
    this.#budget -= cost;
    if (error?.startsWith("no such overload")) {
      const reason =
        "call arguments did not match a supported operator, function or macro signature";
      this.#errors.invalid(path, schema.type, `'${error}': ${reason} for rule: ${ruleText(rule)}`);
    } else if (error?.startsWith("operation cancelled")) {
      const reason = "no further validation rules will be run due to call cost exceeds limit";
      this.#exhaust(path, schema.type, `'${error}': ${reason} for rule: ${ruleText(rule)}`);
    } else if (error !== undefined) {
      this.#errors.invalid(path, schema.type, `${error} evaluating rule: ${ruleText(rule)}`);
    } else if (value !== true) {
      this.#refuse(compiled, variables, schema, subject);
    }
  }

  #exhaust(path: string, type: string, detail: string): void {
    this.#errors.invalid(path, type, detail);
    this.#budget = -1;
  }

  #refuse(
    compiled: CompiledRule,
    variables: ReadonlyMap<string, Value>,
    schema: JsonSchema,
    subject: RuleSubject,
  ): void {
    const isSame = subject.before?.isSame ?? subject.parentIsSame;
    if (!compiled.usesOldSelf && isSame) return;
    const { rule, fieldPath } = compiled;
    const path = shown(fieldPath === "" ? subject.path : childPath(subject.path, fieldPath));
    const evaluated = evaluatedMessage(compiled, variables, this.#budget);
    this.#budget -= evaluated.cost;
    const detail = evaluated.text ?? fixedMessage(rule);
    const isLarge = schema.type === "object" || schema.type === "array";
    switch (rule.reason) {
      case "FieldValueForbidden":
        this.#errors.forbidden(path, detail);
        break;
      case "FieldValueRequired":
        this.#errors.required(path, detail);
        break;
      case "FieldValueDuplicate":
        this.#errors.duplicate(path, isLarge ? undefined : subject.value);
        break;
      default:
        if (isLarge) this.#errors.invalidOmitted(path, detail);
        else this.#errors.invalid(path, subject.value, detail);
    }
  }
}

function shown(path: string): string {
  return path === "" ? noPath : path;
}
