// The types of CEL expressions, and when a value of one may stand where another is expected. Type
// parameters (`list(A)`) are found out from the arguments of a call.

export type Type =
  | { readonly kind: "simple"; readonly name: SimpleName }
  /** Anything: what it is, is known when the expression runs. */
  | { readonly kind: "dyn" }
  | { readonly kind: "list"; readonly of: Type }
  | { readonly kind: "map"; readonly key: Type; readonly value: Type }
  | { readonly kind: "optional"; readonly of: Type }
  | {
      readonly kind: "object";
      readonly name: string;
      readonly fields: ReadonlyMap<string, Type>;
    }
  /** Of a library: `net.IP`. */
  | { readonly kind: "opaque"; readonly name: string }
  | { readonly kind: "param"; readonly name: string };

const simpleNames = [
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null",
  "string",
  "timestamp",
  "type",
  "uint",
] as const;

export type SimpleName = (typeof simpleNames)[number];

export function simpleType(name: SimpleName): Type {
  return { kind: "simple", name };
}

export const dynType: Type = { kind: "dyn" };
export const boolType = simpleType("bool");
export const intType = simpleType("int");
export const stringType = simpleType("string");

export function listOf(of: Type): Type {
  return { kind: "list", of };
}

export function mapOf(key: Type, value: Type): Type {
  return { kind: "map", key, value };
}

export function optionalOf(of: Type): Type {
  return { kind: "optional", of };
}

export function isSimple(type: Type, name: SimpleName): boolean {
  return type.kind === "simple" && type.name === name;
}

export function isSimpleName(text: string): text is SimpleName {
  return simpleNames.some((name) => name === text);
}

/** As messages show it: `list(string)`. */
export function formatType(type: Type): string {
  switch (type.kind) {
    case "dyn":
      return "dyn";
    case "list":
      return `list(${formatType(type.of)})`;
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case "optional":
      return `optional_type(${formatType(type.of)})`;
    case "simple":
    case "object":
    case "opaque":
    case "param":
      return type.name;
  }
}

/** What the type parameters of one call have turned out to be. */
export class Bindings {
  readonly #types = new Map<string, Type>();

  /** Whether a value of type `from` may stand where `to` is expected; learns parameters from it. */
  accepts(to: Type, from: Type): boolean {
    const expected = this.#resolve(to);
    const given = this.#resolve(from);
    if (expected === given) return true;
    if (expected.kind === "param") return this.#bind(expected.name, given);
    if (given.kind === "param") return this.#bind(given.name, expected);
    if (expected.kind === "dyn" || given.kind === "dyn") {
      this.#loosen(to, from);
      return true;
    }
    if (isSimple(given, "null")) return isNullable(expected);
    if (isSimple(expected, "null")) return isNullable(given);
    return this.#sameShape(expected, given);
  }

  /** The type with the parameters that are known put in; those that are not may be anything. */
  apply(type: Type): Type {
    switch (type.kind) {
      case "param": {
        const bound = this.#types.get(type.name);
        return bound === undefined ? dynType : this.apply(bound);
      }
      case "list":
        return listOf(this.apply(type.of));
      case "map":
        return mapOf(this.apply(type.key), this.apply(type.value));
      case "optional":
        return optionalOf(this.apply(type.of));
      case "simple":
      case "dyn":
      case "object":
      case "opaque":
        return type;
    }
  }

  #resolve(type: Type): Type {
    const bound = type.kind === "param" ? this.#types.get(type.name) : undefined;
    return bound === undefined ? type : this.#resolve(bound);
  }

  #bind(name: string, type: Type): boolean {
    if (!occursIn(name, type)) this.#types.set(name, type);
    return true;
  }

  /** A parameter that stands for something known and for anything stands for anything. */
  #loosen(to: Type, from: Type): void {
    for (const type of [to, from]) {
      if (type.kind === "param") this.#types.set(type.name, dynType);
    }
  }

  #sameShape(a: Type, b: Type): boolean {
    if (a.kind === "list" && b.kind === "list") return this.accepts(a.of, b.of);
    if (a.kind === "optional" && b.kind === "optional") return this.accepts(a.of, b.of);
    if (a.kind === "map" && b.kind === "map") {
      return this.accepts(a.key, b.key) && this.accepts(a.value, b.value);
    }
    return a.kind === b.kind && "name" in a && "name" in b && a.name === b.name;
  }
}

function isNullable(type: Type): boolean {
  return (
    type.kind === "object" ||
    type.kind === "opaque" ||
    type.kind === "optional" ||
    isSimple(type, "timestamp") ||
    isSimple(type, "duration") ||
    isSimple(type, "null")
  );
}

function occursIn(name: string, type: Type): boolean {
  switch (type.kind) {
    case "param":
      return type.name === name;
    case "list":
    case "optional":
      return occursIn(name, type.of);
    case "map":
      return occursIn(name, type.key) || occursIn(name, type.value);
    case "simple":
    case "dyn":
    case "object":
    case "opaque":
      return false;
  }
}
