// The rules of a schema (`x-kubernetes-validations`): compiled, checked as a definition has them, and
// run on an object, level by level, within one bound of work. A rule that compares with `oldSelf` runs
// only where there is an old value.
import type { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { type Compilation, type Expression, type RuleScope, RuleTypes, ValueError } from "./cel.ts";
import { type Correlation, counterpart } from "./correlation.ts";
import { childPath, followPath, keyPath, noPath } from "./field-paths.ts";
import { shownRule } from "./internal-form.ts";
import { type JsonSchema, someSchema, type ValidationRule } from "./json-schema.ts";

/**
 * Units of work for one rule, and for all rules on one object. They are the limits of Kubernetes
 * (apiserver/pkg/apis/cel); how a unit is counted is in cel.ts.
 */
export const ruleWorkLimit = 1_000_000;
export const objectWorkLimit = 10_000_000;

/** apiserver/pkg/apis/cel MaxEvaluatedMessageExpressionSizeBytes. */
const messageMaxBytes = 5 * 1024;

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined when the rule is empty or wrong. */
  readonly expression: Expression | undefined;
  readonly problem: string | undefined;
  readonly message: Expression | undefined;
  readonly messageProblem: string | undefined;
  /** The place of a failure below the value itself; "" for the value. */
  readonly fieldPath: string;
}

function compileRules(schema: JsonSchema, scope: RuleScope): readonly CompiledRule[] {
  return schema.rules.map((rule) => {
    const options = { hasOptionalOldSelf: rule.optionalOldSelf === true };
    const compileTo = (type: "bool" | "string", source: string) =>
      source.trim() === "" ? {} : typed(type, scope.compile(source, options));
    const { expression, problem } = compileTo("bool", rule.rule);
    const message = compileTo("string", rule.messageExpression);
    const found = followPath(rule.fieldPath, schema, { allowsBrackets: true });
    return {
      rule,
      expression,
      problem,
      message: message.expression,
      messageProblem: message.problem,
      fieldPath: "path" in found ? found.path : "",
    };
  });
}

const words = {
  bool: { failed: "", mistyped: "cel expression must evaluate to a bool" },
  string: { failed: "messageExpression ", mistyped: "messageExpression must evaluate to a string" },
} as const;

/** An expression of a dynamic type may turn out to be of the wanted one. */
function typed(
  type: "bool" | "string",
  compiled: Compilation,
): { readonly expression?: Expression; readonly problem?: string } {
  const { failed, mistyped } = words[type];
  if ("problem" in compiled) {
    return { problem: `${failed}compilation failed: ${compiled.problem}` };
  }
  const isFitting = compiled.type === type || compiled.type.startsWith("dyn");
  return isFitting ? { expression: compiled.expression } : { problem: mistyped };
}

/** The rules of a schema and of those below it. */
export interface RuleTree {
  readonly schema: JsonSchema;
  readonly scope: RuleScope | undefined;
  readonly rules: readonly CompiledRule[];
  readonly fields: ReadonlyMap<string, RuleTree>;
  readonly items: RuleTree | undefined;
  readonly additional: RuleTree | undefined;
}

/** Undefined when there is no rule in the schema or below it. */
export function ruleTypesOf(
  schema: JsonSchema,
  options: { readonly isResource: boolean },
): RuleTypes | undefined {
  const hasRules = someSchema(schema, ({ rules }) => rules.length > 0);
  return hasRules ? new RuleTypes(schema, options) : undefined;
}

/** Undefined when there is no rule in the schema or below it. */
export function buildRules(schema: JsonSchema, types: RuleTypes | undefined): RuleTree | undefined {
  if (types === undefined) return undefined;
  const scope = schema.rules.length === 0 ? undefined : types.scopeOf(schema);
  const rules = scope === undefined ? [] : compileRules(schema, scope);
  const fields = new Map<string, RuleTree>();
  for (const [name, own] of schema.properties) {
    const tree = buildRules(own, types);
    if (tree !== undefined) fields.set(name, tree);
  }
  const { items: itemSchema, additionalProperties } = schema;
  const items = itemSchema && buildRules(itemSchema, types);
  const additional =
    typeof additionalProperties === "object" ? buildRules(additionalProperties, types) : undefined;
  const isEmpty = rules.length === 0 && fields.size === 0;
  if (isEmpty && items === undefined && additional === undefined) return undefined;
  return { schema, scope, rules, fields, items, additional };
}

export interface RuleSubject {
  readonly value: unknown;
  /** Undefined when there was nothing. */
  readonly old: unknown;
  /** "" for the object itself. */
  readonly path: string;
  /** The value before the change; a failure of an unchanged value is not reported. */
  readonly before: Correlation | undefined;
  /** Whether a value around this one is unchanged, where this one has no counterpart. */
  readonly parentIsSame: boolean;
}

export function checkRules(tree: RuleTree, subject: RuleSubject, errors: FieldErrors): void {
  new RuleCheck(errors).visit(tree, subject);
}

class RuleCheck {
  readonly #errors: FieldErrors;
  /** Negative when no more rules may run. */
  #workLeft = objectWorkLimit;

  constructor(errors: FieldErrors) {
    this.#errors = errors;
  }

  visit(tree: RuleTree, subject: RuleSubject): void {
    const { value } = subject;
    if (value === null || value === undefined || this.#workLeft < 0) return;
    if (tree.scope !== undefined) this.#runRules(tree, tree.scope, subject);
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

  #runRules({ schema, rules }: RuleTree, scope: RuleScope, subject: RuleSubject): void {
    try {
      const self = scope.valueOf(subject.value);
      const old = subject.old ?? undefined;
      for (const compiled of rules) {
        if (this.#workLeft < 0) return;
        const { rule, expression, message } = compiled;
        const isOptional = rule.optionalOldSelf === true;
        if (expression?.usesOldSelf === true && old === undefined && !isOptional) continue;
        const usesOld = expression?.usesOldSelf === true || message?.usesOldSelf === true;
        const oldSelf = usesOld && scope.oldValueOf(old, { isOptional });
        this.#runRule(compiled, { self, oldSelf }, schema, subject);
      }
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      this.#errors.invalid(shown(subject.path), schema.type, error.message);
    }
  }

  #runRule(
    compiled: CompiledRule,
    variables: Readonly<Record<string, unknown>>,
    schema: JsonSchema,
    subject: RuleSubject,
  ): void {
    const { rule, expression, problem } = compiled;
    const path = shown(subject.path);
    if (expression === undefined) {
      if (problem !== undefined) {
        this.#errors.invalid(path, schema.type, `rule compile error: ${problem}`);
      }
      return;
    }
    const { value, error, isOverLimit, work } = expression.run(variables, ruleWorkLimit);
    if (isOverLimit) {
      const reason = "no further validation rules will be run due to call cost exceeds limit";
      this.#exhaust(path, schema.type, `'${error}': ${reason} for rule: ${ruleText(rule)}`);
      return;
    }
    if (work > this.#workLeft) {
      this.#exhaust(
        path,
        schema.type,
        "validation failed due to running out of cost budget, no further validation rules will be run",
      );
      return;
    }
    this.#workLeft -= work;
    if (error === "no such overload") {
      const reason =
        "call arguments did not match a supported operator, function or macro signature";
      this.#errors.invalid(path, schema.type, `'${error}': ${reason} for rule: ${ruleText(rule)}`);
    } else if (error !== undefined) {
      this.#errors.invalid(path, schema.type, `${error} evaluating rule: ${ruleText(rule)}`);
    } else if (value !== true) {
      this.#refuse(compiled, variables, schema, subject);
    }
  }

  #exhaust(path: string, type: string, detail: string): void {
    this.#errors.invalid(path, type, detail);
    this.#workLeft = -1;
  }

  #refuse(
    compiled: CompiledRule,
    variables: Readonly<Record<string, unknown>>,
    schema: JsonSchema,
    subject: RuleSubject,
  ): void {
    const isSame = subject.before?.isSame ?? subject.parentIsSame;
    if (compiled.expression?.usesOldSelf !== true && isSame) return;
    const { rule, fieldPath } = compiled;
    const path = shown(fieldPath === "" ? subject.path : childPath(subject.path, fieldPath));
    const detail = this.#messageOf(compiled, variables);
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

  /** The result of the message expression if it is one line, else the message, else the rule. */
  #messageOf(
    { message, rule }: CompiledRule,
    variables: Readonly<Record<string, unknown>>,
  ): string {
    const evaluated = message?.run(variables, Math.max(0, this.#workLeft));
    this.#workLeft -= evaluated?.work ?? 0;
    const text = typeof evaluated?.value === "string" ? evaluated.value.trim() : "";
    const isUsable = !text.includes("\n") && Buffer.byteLength(text) <= messageMaxBytes;
    if (text !== "" && isUsable) return text;
    return rule.message === "" ? `failed rule: ${ruleText(rule)}` : rule.message.trim();
  }
}

/** How messages name a rule. */
function ruleText({ message, rule }: ValidationRule): string {
  return message === "" ? rule.trim() : message.trim();
}

function shown(path: string): string {
  return path === "" ? noPath : path;
}

const reasons = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];

/** Checks the texts of the rules in a definition. */
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
  readonly types: RuleTypes;
  /** The schema from which on old and new items cannot be matched; undefined when they can. */
  readonly uncorrelatable: string | undefined;
}

/** Compiles the rules in a definition. */
export function checkRuleExpressions(
  schema: JsonSchema,
  path: string,
  context: RuleContext,
  errors: FieldErrors,
): void {
  const scope = context.types.scopeOf(schema);
  if (scope === undefined) {
    const detail = "failed to convert to declType for CEL validation rules";
    errors.invalid(childPath(path, "x-kubernetes-validations"), "", detail);
    return;
  }
  for (const [index, compiled] of compileRules(schema, scope).entries()) {
    const { rule, expression, problem, messageProblem } = compiled;
    const place = rulePath(path, index);
    if (problem !== undefined) {
      errors.invalid(childPath(place, "rule"), shownRule(rule.raw), problem);
    }
    if (messageProblem !== undefined) {
      errors.invalid(childPath(place, "messageExpression"), shownRule(rule.raw), messageProblem);
    }
    const usesOldSelf = expression?.usesOldSelf === true;
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
