// Label selectors as text: `app=web,tier in (a,b),!old`. Read token by token in the manner of the
// real server, so that what is wrong with one is said in its words.
import { ApiError } from "../api-error.ts";
import { labelValue, qualifiedName } from "../kinds/names.ts";
import type { LabelRequirement } from "./label-selector.ts";

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
