// The functions an expression may call: each name has overloads with their types, what they do, and
// what they cost. A library writes them as signatures: `contains(string, string) bool`.
import {
  dynType,
  isSimpleName,
  listOf,
  mapOf,
  optionalOf,
  simpleType,
  type Type,
} from "./types.ts";
import {
  Duration,
  ListValue,
  MapValue,
  ObjectValue,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.ts";

export interface Overload {
  readonly name: string;
  /** Called as `first.name(others)`. */
  readonly isMethod: boolean;
  readonly params: readonly Type[];
  readonly result: Type;
  run(args: readonly Value[]): Value;
  /** How much work it is; 1 unless given. */
  cost?(args: readonly Value[]): number;
}

type Run = (...args: never[]) => Value;
type Cost = (...args: never[]) => number;

/** A function called as `name(…)`. The signature says what its arguments are. */
export function define(signature: string, run: Run, cost?: Cost): Overload {
  return overload(signature, { isMethod: false, run, cost });
}

/** A function called as `first.name(…)`. */
export function defineMethod(signature: string, run: Run, cost?: Cost): Overload {
  return overload(signature, { isMethod: true, run, cost });
}

export class Functions {
  readonly #byKey = new Map<string, Overload[]>();
  readonly #names = new Set<string>();

  constructor(overloads: readonly Overload[]) {
    for (const one of overloads) {
      const key = keyOf(one.name, one.isMethod, one.params.length);
      const same = this.#byKey.get(key);
      if (same === undefined) this.#byKey.set(key, [one]);
      else same.push(one);
      this.#names.add(one.name);
    }
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Those of a name that take so many arguments, the receiver counted. */
  find(name: string, isMethod: boolean, count: number): readonly Overload[] {
    return this.#byKey.get(keyOf(name, isMethod, count)) ?? [];
  }
}

/** Whether the value can be an argument of that type, as far as one looks at the value alone. */
export function fits(type: Type, value: Value): boolean {
  switch (type.kind) {
    case "dyn":
    case "param":
      return true;
    case "list":
      return value instanceof ListValue;
    case "map":
      return value instanceof MapValue;
    case "optional":
      return value instanceof OptionalValue;
    case "object":
      return value instanceof ObjectValue;
    case "opaque":
      return value instanceof OpaqueValue && value.typeName === type.name;
    case "simple":
      return simpleFits[type.name](value);
  }
}

const simpleFits: Readonly<
  Record<Extract<Type, { kind: "simple" }>["name"], (value: Value) => boolean>
> = {
  bool: (value) => typeof value === "boolean",
  bytes: (value) => value instanceof Uint8Array,
  double: (value) => typeof value === "number",
  duration: (value) => value instanceof Duration,
  int: (value) => typeof value === "bigint",
  null: (value) => value === null,
  string: (value) => typeof value === "string",
  timestamp: (value) => value instanceof Timestamp,
  type: (value) => value instanceof TypeValue,
  uint: (value) => value instanceof Uint,
};

function overload(
  signature: string,
  options: { isMethod: boolean; run: Run; cost: Cost | undefined },
): Overload {
  const { name, params, result } = parseSignature(signature);
  const { isMethod, run, cost } = options;
  // The dispatcher calls with values that fit `params`, which are what `run` declares.
  const call = (args: readonly Value[]): Value => Reflect.apply(run, undefined, args);
  const base = { name, isMethod, params, result, run: call };
  if (cost === undefined) return base;
  return { ...base, cost: (args) => Reflect.apply(cost, undefined, args) };
}

function keyOf(name: string, isMethod: boolean, count: number): string {
  return `${name}/${isMethod ? "method" : "function"}/${count}`;
}

function parseSignature(signature: string): { name: string; params: Type[]; result: Type } {
  const open = signature.indexOf("(");
  const close = signature.lastIndexOf(") ");
  const name = signature.slice(0, open);
  const params = splitTypes(signature.slice(open + 1, close)).map(parseType);
  return { name, params, result: parseType(signature.slice(close + 2)) };
}

function parseType(text: string): Type {
  const open = text.indexOf("(");
  const name = open < 0 ? text : text.slice(0, open);
  const inner = open < 0 ? [] : splitTypes(text.slice(open + 1, -1)).map(parseType);
  const [first = dynType, second = dynType] = inner;
  if (name === "dyn") return dynType;
  if (name === "list") return listOf(first);
  if (name === "map") return mapOf(first, second);
  if (name === "optional") return optionalOf(first);
  if (isSimpleName(name)) return simpleType(name);
  return /^[A-Z]$/.test(name) ? { kind: "param", name } : { kind: "opaque", name };
}

/** Splits at commas that are not inside parentheses. */
function splitTypes(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth += 1;
    else if (text[i] === ")") depth -= 1;
    else if (text[i] === "," && depth === 0) {
      parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === "" ? parts : [...parts, last];
}
