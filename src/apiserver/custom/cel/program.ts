// One expression, compiled: the form in which rules are kept and run.
import { checkExpression } from "./checker.ts";
import { childrenOf } from "./children.ts";
import { estimateCost } from "./cost-estimate.ts";
import { evaluate, type Outcome } from "./evaluator.ts";
import { addresses } from "./functions/addresses.ts";
import { conversions } from "./functions/conversions.ts";
import { lists } from "./functions/lists.ts";
import { namedFormats } from "./functions/named-formats.ts";
import { operators } from "./functions/operators.ts";
import { optionals } from "./functions/optionals.ts";
import { quantities } from "./functions/quantities.ts";
import { semvers } from "./functions/semver.ts";
import { texts } from "./functions/texts.ts";
import { timestamps } from "./functions/timestamps.ts";
import { urls } from "./functions/urls.ts";
import { Functions } from "./overloads.ts";
import { parse } from "./parser.ts";
import { CelSyntaxError, type Expression, formatIssues } from "./syntax.ts";
import type { Type } from "./types.ts";
import type { SizeTree } from "./value-sizes.ts";
import type { Value } from "./values.ts";

export interface Program {
  readonly expression: Expression;
  readonly type: Type;
  /** Which of the declared variables it refers to. */
  readonly usedNames: ReadonlySet<string>;
  run(variables: ReadonlyMap<string, Value>, costLimit: number): Outcome;
  /** What it can cost at most, when its variables are of these sizes. */
  maxCost(variables: ReadonlyMap<string, SizeTree>): number;
}

export type Compilation =
  | { readonly program: Program }
  /** What is wrong, as cel-go prints it; late: it compiles, and can yet never run. */
  | { readonly problem: string; readonly isLate: boolean };

/** What Kubernetes makes available to rules. */
const functions = new Functions([
  ...operators,
  ...conversions,
  ...texts,
  ...lists,
  ...timestamps,
  ...optionals,
  ...addresses,
  ...urls,
  ...quantities,
  ...namedFormats,
  ...semvers,
]);

export function compile(source: string, variables: ReadonlyMap<string, Type>): Compilation {
  try {
    const checked = checkExpression(parse(source), variables, functions);
    if (checked.issues.length > 0)
      return { problem: formatIssues(source, checked.issues), isLate: false };
    const { expression, type, usedNames } = checked;
    const failure = constantFailure(expression);
    if (failure !== undefined) return { problem: failure, isLate: true };
    const run: Program["run"] = (values, costLimit) =>
      evaluate(expression, values, { functions, costLimit });
    const { types } = checked;
    const maxCost: Program["maxCost"] = (sizes) =>
      estimateCost(expression, { types, variables: sizes });
    return { program: { expression, type, usedNames, run, maxCost } };
  } catch (error) {
    if (error instanceof CelSyntaxError) {
      return { problem: formatIssues(source, [error.issue]), isLate: false };
    }
    throw error;
  }
}

/** Conversions of literals are done when a program is made. */
const conversionNames: ReadonlySet<string> = new Set(
  "bool bytes double duration int string timestamp uint".split(" "),
);

/** More than the conversion of one literal can cost. */
const literalCostLimit = 10_000;

function constantFailure(expression: Expression): string | undefined {
  for (const part of childrenOf(expression)) {
    const failure = constantFailure(part);
    if (failure !== undefined) return failure;
  }
  if (expression.node !== "call" || !conversionNames.has(expression.name)) return undefined;
  if (expression.args.length !== 1 || expression.args[0]?.node !== "literal") return undefined;
  return evaluate(expression, new Map(), { functions, costLimit: literalCostLimit }).error;
}
