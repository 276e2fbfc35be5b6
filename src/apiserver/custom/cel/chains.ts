// Operands with operators of one precedence between them, such as `a + b - c`, as a tree. There is
// always one operand more than there are operators.
import type { Expression } from "./syntax.ts";

/** An operator between two operands of a chain. */
export interface Link {
  readonly name: string;
  readonly at: number;
}

export function leftToRight(operands: readonly Expression[], links: readonly Link[]): Expression {
  const [first, ...others] = operands;
  if (first === undefined) throw new Error("a chain has operands");
  return others.reduce((left, right, index) => join(links[index], left, right), first);
}

/** Split in the middle, as cel-go splits them: which operator is reported depends on it. */
export function balanced(operands: readonly Expression[], links: readonly Link[]): Expression {
  const middle = Math.floor(links.length / 2);
  const [only] = operands;
  if (only !== undefined && links.length === 0) return only;
  const left = balanced(operands.slice(0, middle + 1), links.slice(0, middle));
  const right = balanced(operands.slice(middle + 1), links.slice(middle + 1));
  return join(links[middle], left, right);
}

function join(link: Link | undefined, left: Expression, right: Expression): Expression {
  if (link === undefined) throw new Error("operands of a chain have operators between them");
  return operator(link.name, link.at, left, right);
}

export function operator(name: string, at: number, ...args: readonly Expression[]): Expression {
  return { node: "call", at, name, target: undefined, args };
}
