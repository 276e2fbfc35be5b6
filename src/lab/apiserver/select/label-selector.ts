// Label selectors: the text form of the query parameter (`a=b,c in (d,e),!f`), and the object form
// in the specs of workloads. Both become one list of requirements that must all hold.
import { ApiError } from "../api-error.ts";
import { objectsAt, textAt, textMapAt, textsAt } from "../kinds/fields.ts";
import { labelValue, qualifiedName } from "../kinds/names.ts";

export type Labels = Readonly<Record<string, string>>;

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "in" | "notin" | "exists" | "!" | "gt" | "lt";
  readonly values: readonly string[];
}

/** Parses the query parameter; throws a 400 that quotes it. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const requirements = splitRequirements(text).map((part) => parseRequirement(part, text));
  for (const { key, values } of requirements) {
    const problems = [...qualifiedName(key), ...values.flatMap((value) => labelValue(value))];
    const [problem] = problems;
    if (problem !== undefined) {
      throw unparsable(text, problem);
    }
  }
  return requirements;
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
  return selectorRequirements(selector)
    .map(({ key, operator, values }) => {
      const [only] = values;
      if (operator === "exists") {
        return key;
      }
      if (operator === "!") {
        return `!${key}`;
      }
      return values.length === 1 && operator === "in"
        ? `${key}=${only}`
        : `${key} ${operator} (${[...values].sort().join(",")})`;
    })
    .join(",");
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
  const value = labels[key];
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

/** Splits at commas that are not inside parentheses. */
function splitRequirements(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === "(") {
      depth++;
    } else if (character === ")") {
      depth--;
    } else if (character === "," && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts.length === 1 && parts[0] === "" ? [] : parts;
}

function parseRequirement(part: string, text: string): LabelRequirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  if (set !== null) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return { key, operator: operator === "in" ? "in" : "notin", values };
  }
  const comparison = /^([^=!<>\s()]+)\s*(==|=|!=|<|>)\s*([^=!<>\s()]*)$/.exec(part);
  if (comparison !== null) {
    const [, key = "", sign = "", value = ""] = comparison;
    return { key, operator: signs[sign] ?? "in", values: [value] };
  }
  const existence = /^(!?)\s*([^=!<>\s()]+)$/.exec(part);
  if (existence !== null) {
    const [, negated, key = ""] = existence;
    return { key, operator: negated === "!" ? "!" : "exists", values: [] };
  }
  throw unparsable(text, `found '${part}', expected: a requirement`);
}

const signs: Readonly<Record<string, LabelRequirement["operator"]>> = {
  "=": "in",
  "==": "in",
  "!=": "notin",
  "<": "lt",
  ">": "gt",
};

function unparsable(text: string, problem: string): ApiError {
  return new ApiError(
    400,
    "BadRequest",
    `unable to parse requirement: ${problem} (labelSelector ${JSON.stringify(text)})`,
  );
}
