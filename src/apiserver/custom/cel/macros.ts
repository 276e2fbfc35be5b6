// The macros of CEL that Kubernetes enables: has, the comprehensions over one and two names, and
// those of optionals and lists.
import { CelSyntaxError, type Comprehension, type Expression, type Fold } from "./syntax.ts";

export interface MacroCall {
  readonly name: string;
  readonly at: number;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

/** Undefined when the call is no macro. */
export function expandMacro(call: MacroCall): Expression | undefined {
  const { name, at, target, args } = call;
  if (target === undefined)
    return name === "has" && args.length === 1 ? expandHas(call) : undefined;
  const form = comprehensions.get(`${name}/${args.length}`);
  if (form !== undefined) return expandComprehension(call, target, form);
  const [first, body] = args;
  if ((name === "optMap" || name === "optFlatMap") && first !== undefined && body !== undefined) {
    return expandOptional({ target, at, variable: nameOf(first), body, isFlat: name !== "optMap" });
  }
  return undefined;
}

interface Form {
  readonly fold: Fold;
  readonly names: 1 | 2;
  readonly hasFilter: boolean;
}

const comprehensions: ReadonlyMap<string, Form> = new Map([
  ["all/2", { fold: "all", names: 1, hasFilter: false }],
  ["exists/2", { fold: "exists", names: 1, hasFilter: false }],
  ["exists_one/2", { fold: "existsOne", names: 1, hasFilter: false }],
  ["existsOne/2", { fold: "existsOne", names: 1, hasFilter: false }],
  ["filter/2", { fold: "filter", names: 1, hasFilter: false }],
  ["map/2", { fold: "list", names: 1, hasFilter: false }],
  ["map/3", { fold: "list", names: 1, hasFilter: true }],
  ["sortBy/2", { fold: "sortBy", names: 1, hasFilter: false }],
  ["all/3", { fold: "all", names: 2, hasFilter: false }],
  ["exists/3", { fold: "exists", names: 2, hasFilter: false }],
  ["existsOne/3", { fold: "existsOne", names: 2, hasFilter: false }],
  ["exists_one/3", { fold: "existsOne", names: 2, hasFilter: false }],
  ["transformList/3", { fold: "list", names: 2, hasFilter: false }],
  ["transformList/4", { fold: "list", names: 2, hasFilter: true }],
  ["transformMap/3", { fold: "map", names: 2, hasFilter: false }],
  ["transformMap/4", { fold: "map", names: 2, hasFilter: true }],
  ["transformMapEntry/3", { fold: "mapEntries", names: 2, hasFilter: false }],
  ["transformMapEntry/4", { fold: "mapEntries", names: 2, hasFilter: true }],
]);

function expandHas({ args, at }: MacroCall): Expression {
  const [field] = args;
  if (field?.node !== "field" || field.isOptional) {
    throw new CelSyntaxError({ at, message: "invalid argument to has() macro" });
  }
  return { ...field, at, isTest: true };
}

function expandComprehension(
  { at, args }: MacroCall,
  range: Expression,
  { fold, names, hasFilter }: Form,
): Comprehension {
  const [first, second] = args;
  const body = args.at(-1);
  if (first === undefined || body === undefined) throw new Error("a macro without arguments");
  const filter = hasFilter ? args[names] : undefined;
  const secondName = names === 2 && second !== undefined ? nameOf(second) : undefined;
  const name = nameOf(first);
  if (name === secondName) {
    const message = `duplicate variable name: ${name}`;
    throw new CelSyntaxError({ at: second?.at ?? at, message });
  }
  return { node: "comprehension", at, fold, range, name, secondName, filter, body };
}

/** `target.optMap(v, body)`: the body of what is there, if anything is. */
function expandOptional(options: {
  readonly target: Expression;
  readonly at: number;
  readonly variable: string;
  readonly body: Expression;
  readonly isFlat: boolean;
}): Expression {
  const { target, at, variable, body, isFlat } = options;
  const call = (name: string, on: Expression | undefined, ...args: readonly Expression[]) =>
    ({ node: "call", at, name, target: on, args }) as const;
  const bound: Expression = {
    node: "bind",
    at,
    name: variable,
    value: call("value", target),
    body,
  };
  return call(
    "_?_:_",
    undefined,
    call("hasValue", target),
    isFlat ? bound : call("optional.of", undefined, bound),
    call("optional.none", undefined),
  );
}

function nameOf(expression: Expression): string {
  if (expression.node === "name") return expression.name;
  throw new CelSyntaxError({ at: expression.at, message: "argument must be a simple name" });
}
