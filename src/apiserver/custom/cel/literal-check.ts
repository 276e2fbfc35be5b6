// Literals that can only fail: a duration, a point in time or a pattern that is none. They are found
// before the expression ever runs.

import { parseGoNanos } from "../../../environment/go-duration.ts";
import { patternProblem } from "../patterns.ts";
import { childrenOf } from "./children.ts";
import { parseTimestamp } from "./functions/timestamps.ts";
import type { Expression, Issue } from "./syntax.ts";
import { CelError } from "./values.ts";

export function literalIssues(expression: Expression): readonly Issue[] {
  const own = issueOf(expression);
  const below = childrenOf(expression).flatMap(literalIssues);
  return own === undefined ? below : [...below, own];
}

function issueOf(expression: Expression): Issue | undefined {
  if (expression.node !== "call") return undefined;
  const { name, args } = expression;
  const literal = args.at(-1);
  if (literal?.node !== "literal" || typeof literal.value !== "string") return undefined;
  const isRight = checks.get(`${name}/${args.length + (expression.target === undefined ? 0 : 1)}`);
  if (isRight === undefined || isRight(literal.value)) return undefined;
  return { at: literal.at, message: `invalid ${name} argument` };
}

const checks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["duration/1", (text) => parseGoNanos(text) !== undefined],
  ["timestamp/1", isTimestamp],
  ["matches/2", (text) => patternProblem(text) === undefined],
]);

function isTimestamp(text: string): boolean {
  try {
    parseTimestamp(text);
    return true;
  } catch (error) {
    if (error instanceof CelError) return false;
    throw error;
  }
}
