// What is said when a rule does not hold: its message expression's result, its message, or itself.
import type { Value } from "./cel/values.ts";
import type { ValidationRule } from "./json-schema.ts";
import type { CompiledRule } from "./rule-compile.ts";

/** apiserver/pkg/apis/cel MaxEvaluatedMessageExpressionSizeBytes. */
const messageMaxBytes = 5 * 1024;

/** `text` is undefined when there is no expression, or none that gives a usable line. */
export function evaluatedMessage(
  { message }: CompiledRule,
  variables: ReadonlyMap<string, Value>,
  costLimit: number,
): { text: string | undefined; cost: number } {
  if (message === undefined) return { text: undefined, cost: 0 };
  const { value, cost } = message.run(variables, Math.max(0, costLimit));
  const text = typeof value === "string" ? value.trim() : "";
  const isUsable =
    text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= messageMaxBytes;
  return { text: isUsable ? text : undefined, cost };
}

export function fixedMessage(rule: ValidationRule): string {
  return rule.message === "" ? `failed rule: ${ruleText(rule)}` : rule.message.trim();
}

/** How a rule is called in messages about it. */
export function ruleText({ message, rule }: ValidationRule): string {
  return message === "" ? rule.trim() : message.trim();
}
