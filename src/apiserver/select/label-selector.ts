// Label selectors: the text form of the query parameter (`a=b,c in (d,e),!f`), and the object form
// in the specs of workloads. Both become one list of requirements that must all hold.

import { ApiError } from "../api-error.ts";
import { objectsAt, textAt, textMapAt, textsAt } from "../kinds/fields.ts";
import { labelValue, qualifiedName } from "../kinds/names.ts";

type Labels = Readonly<Record<string, string>>;

interface LabelRequirement {
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

// The parser of the text form. It reads token by token as the real server does, so that its errors
// are the same.

export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  if (text === "") return [];
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const { text: found, type } = tokens.peek();
    if (type === "end") return requirements;
    if (type !== "identifier" && found !== "!") {
      throw refused(`found '${found}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(requirement(tokens));
    const next = tokens.take();
    if (next.type === "end") return requirements;
    if (next.text !== ",") {
      throw refused(`found '${next.text}', expected: ',' or 'end of string'`);
    }
    const after = tokens.peek();
    if (after.type !== "identifier" && after.text !== "!") {
      throw refused(`found '${after.text}', expected: identifier after ','`);
    }
  }
}

interface Token {
  readonly type: "end" | "identifier" | "symbol";
  readonly text: string;
}

const end: Token = { type: "end", text: "" };

class Tokens {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = [...text.matchAll(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g)].map(([found]) => ({
      type: /^[=!(),<>]/.test(found) ? "symbol" : "identifier",
      text: found,
    }));
  }

  peek(): Token {
    return this.#tokens[this.#next] ?? end;
  }

  take(): Token {
    const token = this.peek();
    this.#next++;
    return token;
  }
}

const operators: Readonly<Record<string, LabelRequirement["operator"]>> = {
  "=": "in",
  "==": "in",
  "!=": "notin",
  "<": "lt",
  ">": "gt",
  in: "in",
  notin: "notin",
};

function requirement(tokens: Tokens): LabelRequirement {
  const first = tokens.take();
  const isNegated = first.text === "!";
  const { type, text: key } = isNegated ? tokens.take() : first;
  if (type !== "identifier") {
    throw unparsable(`found '${key}', expected: identifier`);
  }
  const problems = qualifiedName(key);
  if (problems.length > 0) {
    const shown = JSON.stringify(key);
    throw unparsable(`<nil>: Invalid value: ${shown}: ${problems.join("; ")}`);
  }
  const next = tokens.peek();
  if (isNegated || next.type === "end" || next.text === ",") {
    return { key, operator: isNegated ? "!" : "exists", values: [] };
  }
  const sign = tokens.take().text;
  const operator = operators[sign];
  if (operator === undefined) {
    throw unparsable(`found '${sign}', expected: in, notin, =, ==, !=, gt, lt`);
  }
  const values = sign === "in" || sign === "notin" ? listOfValues(tokens) : [oneValue(tokens)];
  refuseBadValues(key, operator, values);
  return { key, operator, values };
}

function listOfValues(tokens: Tokens): readonly string[] {
  const opening = tokens.take();
  if (opening.text !== "(") {
    throw unparsable(`found '${opening.text}' expected: '('`);
  }
  const first = tokens.peek();
  if (first.type !== "identifier" && first.text !== "," && first.text !== ")") {
    throw unparsable(`found '${first.text}', expected: ',', ')' or identifier`);
  }
  // Nothing between the brackets is one empty value.
  const values: string[] = [];
  for (;;) {
    values.push(tokens.peek().type === "identifier" ? tokens.take().text : "");
    const separator = tokens.take();
    if (separator.text === ")") return values;
    if (separator.text !== ",") {
      throw unparsable(`found '${separator.text}', expected: ',' or ')'`);
    }
  }
}

function oneValue(tokens: Tokens): string {
  const next = tokens.peek();
  if (next.type === "end" || next.text === ",") return "";
  tokens.take();
  if (next.type !== "identifier") {
    throw unparsable(`found '${next.text}', expected: identifier`);
  }
  return next.text;
}

function refuseBadValues(
  key: string,
  operator: LabelRequirement["operator"],
  values: readonly string[],
): void {
  for (const [index, value] of values.entries()) {
    const shown = JSON.stringify(value);
    if ((operator === "gt" || operator === "lt") && !/^[+-]?\d+$/.test(value)) {
      const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
      throw unparsable(`values[${index}]: Invalid value: ${shown}: ${detail}`);
    }
    const problems = labelValue(value);
    if (problems.length > 0) {
      throw unparsable(`values[${index}][${key}]: Invalid value: ${shown}: ${problems.join("; ")}`);
    }
  }
}

function unparsable(problem: string): ApiError {
  return refused(`unable to parse requirement: ${problem}`);
}

function refused(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}
