// What a checker knows of expressions without looking into their parts: the types of literals and
// of comprehensions, names that stand for types, and the parameters of functions.
import type { Comprehension, Expression } from "./syntax.ts";
import {
  boolType,
  dynType,
  formatType,
  listOf,
  mapOf,
  optionalOf,
  simpleType,
  type Type,
} from "./types.ts";
import { TypeValue, typeNameOf, type Value } from "./values.ts";

export interface Checked {
  readonly expression: Expression;
  readonly type: Type;
}

/** The types of what can be named. */
export type Scope = ReadonlyMap<string, Type>;

/** Names that are types: `type(x) == string`. */
const typeNames: ReadonlySet<string> = new Set(
  (
    "bool bytes double int list map null_type string type uint google.protobuf.Timestamp " +
    "google.protobuf.Duration optional_type net.IP net.CIDR kubernetes.URL kubernetes.Quantity"
  ).split(" "),
);

/** What it is will be known when it runs. */
export function isOpen({ kind }: Type): boolean {
  return kind === "dyn" || kind === "param";
}

/** The type without what is inside it. */
export function typeWord(type: Type): string {
  return formatType(type).replace(/\(.*$/s, "");
}

export function foldType(
  fold: Comprehension["fold"],
  types: { range: Type; single: Type; keyType: Type; body: Checked },
): Type {
  const { range, single, keyType, body } = types;
  switch (fold) {
    case "all":
    case "exists":
    case "existsOne":
      return boolType;
    case "filter":
    case "sortBy":
      return range.kind === "list" ? range : listOf(single);
    case "list":
      return listOf(body.type);
    case "map":
      return mapOf(keyType, body.type);
    case "mapEntries":
      return body.type;
  }
}

export function literalType(value: Value): Type {
  const name = typeNameOf(value);
  switch (name) {
    case "null_type":
      return simpleType("null");
    case "bool":
    case "bytes":
    case "double":
    case "int":
    case "string":
    case "uint":
      return simpleType(name);
    default:
      return dynType;
  }
}

/** `a.b.c`, unless its first part is a variable. */
export function qualifiedName(expression: Expression, scope: Scope): string | undefined {
  if (expression.node === "name") {
    return scope.has(expression.name) ? undefined : expression.name;
  }
  if (expression.node !== "field" || expression.isTest || expression.isOptional) return undefined;
  const parent = qualifiedName(expression.of, scope);
  return parent && `${parent}.${expression.name}`;
}

export function typeConstant(name: string, at: number): Checked | undefined {
  if (!typeNames.has(name)) return undefined;
  const expression = { node: "literal", at, value: new TypeValue(name) } as const;
  return { expression, type: simpleType("type") };
}

/** An empty list may be one of anything: this is what it will turn out to be. */
export function freeType(): Type {
  return { kind: "param", name: "_" };
}

/** The parameters of a function are other ones than those among its arguments. */
export function renamed(type: Type): Type {
  switch (type.kind) {
    case "param":
      return { kind: "param", name: `fn.${type.name}` };
    case "list":
      return listOf(renamed(type.of));
    case "map":
      return mapOf(renamed(type.key), renamed(type.value));
    case "optional":
      return optionalOf(renamed(type.of));
    case "simple":
    case "dyn":
    case "object":
    case "opaque":
      return type;
  }
}
