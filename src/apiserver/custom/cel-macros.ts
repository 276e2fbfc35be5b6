// Macros of CEL that the library lacks: those with two variables, `sortBy`, `optMap`, and `has` of any
// operand. A macro evaluates its arguments itself, once for each entry of its receiver.
import { order } from "./cel-functions.ts";

/** A node of the library's syntax tree, as far as macros and metering need it. */
export interface CelNode {
  readonly op: string;
  args: unknown;
  readonly pos: number;
  readonly meta: { readonly alternate?: CelNode; readonly macro?: object };
  setMeta(key: string, value: unknown): CelNode;
  evaluate: (evaluator: Evaluator, node: CelNode, context: Context) => unknown;
}

export interface Evaluator {
  run(node: CelNode, context: Context): unknown;
}

interface CelType {
  readonly kind: string;
  readonly name: string;
  readonly keyType?: CelType;
  readonly valueType?: CelType;
}

interface Checker {
  check(node: CelNode, context: Context): CelType;
  getType(name: string): CelType;
  createError(code: string, message: string, node: CelNode): Error;
}

/** The variables in scope. */
interface Context {
  forkWithVariable(name: string, type: CelType): Context;
  reuse(parent: Context): Context;
  setIterValue(value: unknown, evaluator: Evaluator): Context;
}

interface MacroCall {
  readonly ast: CelNode;
  readonly args: readonly CelNode[];
  readonly receiver: CelNode;
}

export interface Macro {
  /** The nodes it evaluates; the receiver is read as a whole. */
  readonly receiver: CelNode;
  readonly bodies: readonly CelNode[];
  readonly async: false;
  typeCheck(checker: Checker, macro: Macro, context: Context): CelType;
  evaluate(evaluator: Evaluator, macro: Macro, context: Context): unknown;
}

type Entry = readonly [key: unknown, value: unknown];

/** Evaluates a body for an entry. */
type Ask = (entry: Entry, body?: number) => unknown;

interface Fold {
  readonly variables: 1 | 2;
  /** The type of the result, from the types of the bodies. */
  readonly type: (bodies: readonly CelType[], checker: Checker) => CelType;
  readonly run: (entries: readonly Entry[], ask: Ask) => unknown;
}

const bool: Fold["type"] = (_, checker) => checker.getType("bool");
const listOfLast: Fold["type"] = (bodies, checker) =>
  checker.getType(`list<${bodies.at(-1)?.name ?? "dyn"}>`);
const dynamic: Fold["type"] = (_, checker) => checker.getType("dyn");

const all: Fold["run"] = (entries, ask) => quantified(entries, ask, false);
const exists: Fold["run"] = (entries, ask) => quantified(entries, ask, true);
const existsOne: Fold["run"] = (entries, ask) =>
  entries.filter((entry) => ask(entry) === true).length === 1;
const transformMap: Fold["run"] = (entries, ask) =>
  new Map(entries.map((entry) => [entry[0], ask(entry)]));

/** By signature, in the notation of the library. */
export const celMacros: Readonly<Record<string, (call: MacroCall) => Macro>> = {
  "list.all(ast, ast, ast): bool": folding({ variables: 2, type: bool, run: all }),
  "list.exists(ast, ast, ast): bool": folding({ variables: 2, type: bool, run: exists }),
  "list.existsOne(ast, ast): bool": folding({ variables: 1, type: bool, run: existsOne }),
  "list.existsOne(ast, ast, ast): bool": folding({ variables: 2, type: bool, run: existsOne }),
  "list.exists_one(ast, ast, ast): bool": folding({ variables: 2, type: bool, run: existsOne }),
  "list.transformList(ast, ast, ast): list<dyn>": folding({
    variables: 2,
    type: listOfLast,
    run: (entries, ask) => entries.map((entry) => ask(entry)),
  }),
  "list.transformList(ast, ast, ast, ast): list<dyn>": folding({
    variables: 2,
    type: listOfLast,
    run: (entries, ask) =>
      entries.filter((entry) => ask(entry) === true).map((entry) => ask(entry, 1)),
  }),
  "list.transformMap(ast, ast, ast): dyn": folding({
    variables: 2,
    type: dynamic,
    run: transformMap,
  }),
  "list.transformMap(ast, ast, ast, ast): dyn": folding({
    variables: 2,
    type: dynamic,
    run: (entries, ask) =>
      transformMap(
        entries.filter((entry) => ask(entry) === true),
        (entry) => ask(entry, 1),
      ),
  }),
  "list.transformMapEntry(ast, ast, ast): dyn": folding({
    variables: 2,
    type: dynamic,
    run: (entries, ask) => new Map(entries.flatMap((entry) => entriesOf(ask(entry)))),
  }),
  "list.sortBy(ast, ast): list<dyn>": folding({
    variables: 1,
    type: (_, checker) => checker.getType("list<dyn>"),
    run: (entries, ask) =>
      entries
        .map((entry) => ({ value: entry[1], key: ask(entry) }))
        .sort((a, b) => order(a.key, b.key))
        .map(({ value }) => value),
  }),
  "optional.optMap(ast, ast): dyn": mappingOptional((value, original) => original.of(value)),
  "optional.optFlatMap(ast, ast): dyn": mappingOptional((value) => value),
};

function quantified(entries: readonly Entry[], ask: Ask, decisive: boolean): boolean {
  let failure: Error | undefined;
  for (const entry of entries) {
    try {
      if (ask(entry) === decisive) return decisive;
    } catch (error) {
      // Another entry may still decide, as in an `||` of all of them.
      if (!(error instanceof Error)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return !decisive;
}

function folding({ variables, type, run }: Fold): (call: MacroCall) => Macro {
  return ({ args, receiver }) => {
    const names = args.slice(0, variables).map(variableName);
    const bodies = args.slice(variables);
    let scopes: readonly Context[] = [];
    return {
      receiver,
      bodies,
      async: false,
      typeCheck(checker, _, context) {
        const types = entryTypes(checker, receiver, context);
        const scoped: Context[] = [];
        for (const [index, name] of names.entries()) {
          const own = variables === 2 ? types[index] : types[2];
          scoped.push((scoped.at(-1) ?? context).forkWithVariable(name, own ?? types[1]));
        }
        scopes = scoped;
        const inner = scoped.at(-1) ?? context;
        return type(
          bodies.map((body) => checker.check(body, inner)),
          checker,
        );
      },
      evaluate(evaluator, _, context) {
        const collection = evaluator.run(receiver, context);
        const isMap = !Array.isArray(collection);
        const ask: Ask = (entry, body = 0) => {
          let scope = context;
          for (const [index, own] of scopes.entries()) {
            const single = isMap ? entry[0] : entry[1];
            const value = variables === 2 ? entry[index] : single;
            scope = own.reuse(scope).setIterValue(value, evaluator);
          }
          const node = bodies[body];
          return node && evaluator.run(node, scope);
        };
        return run(entriesOf(collection), ask);
      },
    };
  };
}

/** Of keys, of values, and of a single variable: the items of a list, the keys of a map. */
function entryTypes(
  checker: Checker,
  receiver: CelNode,
  context: Context,
): readonly [CelType, CelType, CelType] {
  const type = checker.check(receiver, context);
  const dyn = checker.getType("dyn");
  const { kind, keyType = dyn, valueType = dyn } = type;
  if (kind === "list") return [checker.getType("int"), valueType, valueType];
  if (kind === "map") return [keyType, valueType, keyType];
  if (kind === "dyn") return [dyn, dyn, dyn];
  const message = `Expression of type '${type.name}' cannot be range of a comprehension`;
  throw checker.createError("invalid_comprehension_range", message, receiver);
}

function entriesOf(collection: unknown): readonly Entry[] {
  if (Array.isArray(collection)) return collection.map((item, index) => [BigInt(index), item]);
  if (collection instanceof Map) return [...collection];
  return typeof collection === "object" && collection !== null ? Object.entries(collection) : [];
}

interface OptionalClass {
  of(value: unknown): unknown;
}

function mappingOptional(
  result: (value: unknown, original: OptionalClass) => unknown,
): (call: MacroCall) => Macro {
  return ({ args, receiver }) => {
    const [variable, body] = args;
    if (variable === undefined || body === undefined) throw new Error("two arguments expected");
    const name = variableName(variable);
    let scope: Context | undefined;
    return {
      receiver,
      bodies: [body],
      async: false,
      typeCheck(checker, _, context) {
        const { kind, valueType } = checker.check(receiver, context);
        const type = kind === "optional" && valueType ? valueType : checker.getType("dyn");
        scope = context.forkWithVariable(name, type);
        checker.check(body, scope);
        return checker.getType("optional<dyn>");
      },
      evaluate(evaluator, _, context) {
        const optional = evaluator.run(receiver, context);
        if (!isOptional(optional)) throw new Error("optional expected");
        if (!optional.hasValue() || scope === undefined) return optional;
        const inner = scope.reuse(context).setIterValue(optional.value(), evaluator);
        return result(evaluator.run(body, inner), optional.constructor);
      },
    };
  };
}

interface OptionalValue {
  readonly constructor: OptionalClass & (new () => unknown);
  hasValue(): boolean;
  value(): unknown;
}

function isOptional(value: unknown): value is OptionalValue {
  return typeof value === "object" && value !== null && "hasValue" in value;
}

function variableName(node: CelNode): string {
  if (node.op === "id" && typeof node.args === "string") return node.args;
  throw new Error("argument is not an identifier");
}

/** `has(operand.field)`. The library's own takes only names as operands and checks no field. */
export function hasMacro(field: CelNode): Macro {
  const [operand, name] = Array.isArray(field.args) ? field.args : [];
  return {
    receiver: operand,
    bodies: [],
    async: false,
    typeCheck(checker, _, context) {
      if (field.op !== "." && field.op !== ".?") {
        throw checker.createError("invalid_argument", "invalid argument to has() macro", field);
      }
      checker.check(field, context);
      return checker.getType("bool");
    },
    evaluate(evaluator, _, context) {
      const found = evaluator.run(operand, context);
      const value = isOptional(found) ? (found.hasValue() ? found.value() : undefined) : found;
      if (value instanceof Map) return value.has(name);
      return typeof value === "object" && value !== null && Object.hasOwn(value, name);
    },
  };
}
