// Label selectors: the text form of the query parameter (`a=b,c in (d,e),!f`), and the object form
// in the specs of workloads. Both become one list of requirements that must all hold.
import { objectsAt, textAt, textMapAt, textsAt } from "../kinds/fields.ts";

export type Labels = Readonly<Record<string, string>>;

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "in" | "notin" | "exists" | "!" | "gt" | "lt";
  readonly values: readonly string[];
}

export function matchesRequirements(
  requirements: readonly LabelRequirement[],
  labels: Labels,
): boolean {
  return requirements.every((requirement) => holds(requirement, labels));
}

/** Matches `{matchLabels, matchExpressions}`. */
export function matchesLabelSelector(selector: unknown, labels: Labels): boolean {
  return matchesRequirements(selectorRequirements(selector), labels);
}

/** `{matchLabels, matchExpressions}` as text, as the scale subresource's status shows it. */
export function formatLabelSelector(selector: unknown): string {
  const equal = Object.entries(textMapAt(selector, "matchLabels")).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  const expressions = objectsAt(selector, "matchExpressions").map((expression) => ({
    key: textAt(expression, "key"),
    text: formatExpression(expression),
  }));
  return [...equal, ...expressions]
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ text }) => text)
    .join(",");
}

function formatExpression(expression: unknown): string {
  const key = textAt(expression, "key");
  const operator = expressionOperators[textAt(expression, "operator")] ?? "in";
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    default:
      return `${key} ${operator} (${[...textsAt(expression, "values")].sort().join(",")})`;
  }
}

const expressionOperators: Readonly<Record<string, LabelRequirement["operator"]>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

function selectorRequirements(selector: unknown): readonly LabelRequirement[] {
  const equal = Object.entries(textMapAt(selector, "matchLabels")).map(
    ([key, value]): LabelRequirement => ({ key, operator: "in", values: [value] }),
  );
  const expressions = objectsAt(selector, "matchExpressions").map(
    (expression): LabelRequirement => ({
      key: textAt(expression, "key"),
      operator: expressionOperators[textAt(expression, "operator")] ?? "in",
      values: textsAt(expression, "values"),
    }),
  );
  return [...equal, ...expressions];
}

function holds({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "in":
      return value !== undefined && values.includes(value);
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
      return value !== undefined && Number(value) > Number(values[0]);
    case "lt":
      return value !== undefined && Number(value) < Number(values[0]);
  }
}
