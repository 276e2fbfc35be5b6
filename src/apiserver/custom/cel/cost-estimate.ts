// What an expression can cost at most, given how large its variables can be. Kubernetes refuses
// definitions by this figure, so it is put together as cel-go does: a macro costs what the loop
// costs that it stands for.

import { runes } from "../runes.ts";
import { estimateCall, type Operand } from "./call-estimate.ts";
import type { Comprehension, Expression } from "./syntax.ts";
import { dynType, type Type } from "./types.ts";
import { plus, type SizeTree, times, unbounded } from "./value-sizes.ts";

export interface EstimateOptions {
  readonly types: ReadonlyMap<Expression, Type>;
  readonly variables: ReadonlyMap<string, SizeTree>;
}

export function estimateCost(expression: Expression, options: EstimateOptions): number {
  const scope = new Map<string, Known>();
  for (const [name, tree] of options.variables) scope.set(name, { tree, size: undefined });
  return new Estimation(options.types).visit(expression, scope).cost;
}

/** What is known of a value: its place in a variable's sizes, or a size computed on the way. */
interface Known {
  readonly tree: SizeTree | undefined;
  readonly size: number | undefined;
  /** Of items or values, and of keys, where they were made by the expression itself. */
  readonly elementSize?: number | undefined;
  readonly keySize?: number | undefined;
}

interface Visited extends Known {
  readonly cost: number;
}

type Scope = ReadonlyMap<string, Known>;
type Node<Name extends Expression["node"]> = Extract<Expression, { node: Name }>;

const listCost = 10;
const mapCost = 30;

/** What one round of a macro costs beside its parts: reading and joining the accumulator. */
const allRound = 3;
const existsRound = 4;
const existsOneRound = 2;
const appendRound = 12;
const insertRound = 3;
const resultCost = 1;
const existsOneResult = 2;

class Estimation {
  readonly #types: ReadonlyMap<Expression, Type>;

  constructor(types: ReadonlyMap<Expression, Type>) {
    this.#types = types;
  }

  visit(expression: Expression, scope: Scope): Visited {
    switch (expression.node) {
      case "literal":
        return { cost: 0, tree: undefined, size: literalSize(expression.value) };
      case "name":
        return { cost: 1, ...(scope.get(expression.name) ?? nothing) };
      case "field":
        return this.#field(expression, scope);
      case "call":
        return this.#call(expression, scope);
      case "list":
        return this.#list(expression, scope);
      case "map":
        return this.#map(expression, scope);
      case "bind": {
        const value = this.visit(expression.value, scope);
        const inner = new Map(scope).set(expression.name, this.#known(value, expression.value));
        const body = this.visit(expression.body, inner);
        return { ...body, cost: plus(listCost, plus(value.cost, body.cost)) };
      }
      case "comprehension":
        return this.#comprehension(expression, scope);
    }
  }

  #typeOf(expression: Expression): Type {
    return this.#types.get(expression) ?? dynType;
  }

  /** Unbounded where nothing is known. */
  #sizeOf(visited: Known, expression: Expression): number {
    return (
      visited.size ?? visited.tree?.max ?? (isScalar(this.#typeOf(expression)) ? 1 : unbounded)
    );
  }

  #known(visited: Visited, expression: Expression): Known {
    return { ...visited, size: this.#sizeOf(visited, expression) };
  }

  #field(expression: Node<"field">, scope: Scope): Visited {
    const of = this.visit(expression.of, scope);
    if (expression.isTest) return { cost: of.cost, tree: undefined, size: 1 };
    if (expression.isOptional) return { cost: plus(of.cost, 1), tree: undefined, size: undefined };
    const { kind } = this.#typeOf(expression.of);
    const isCounted = kind === "map" || kind === "object" || kind === "param";
    const tree = of.tree?.fields.get(expression.name);
    return { cost: plus(of.cost, isCounted ? 1 : 0), tree, size: undefined };
  }

  #call(expression: Node<"call">, scope: Scope): Visited {
    const { name, target, args } = expression;
    const visited = args.map((arg) => this.visit(arg, scope));
    const receiver = target && this.visit(target, scope);
    const [first, second, third] = visited;
    const argCost = visited.reduce((sum, arg) => plus(sum, arg.cost), receiver?.cost ?? 0);
    if (name === "dyn" && first !== undefined) return { ...first, cost: plus(first.cost, 1) };
    if (name === "_&&_" || name === "_||_") return { cost: argCost, tree: undefined, size: 1 };
    if (name === "_?_:_" && first !== undefined && second !== undefined && third !== undefined) {
      const [, yes, no] = args;
      const size = Math.max(sizeIn(this, second, yes), sizeIn(this, third, no));
      const cost = plus(first.cost, Math.max(second.cost, third.cost));
      return { ...nothing, cost, size, elementSize: larger(second, third) };
    }
    const operands = args.map((arg, index) => this.#operand(arg, visited[index] ?? nothing));
    const own = estimateCall({
      name,
      target: target === undefined ? undefined : this.#operand(target, receiver ?? nothing),
      args: operands,
    });
    const cost = plus(own.cost, argCost);
    if (name === "_[_]" && first !== undefined) {
      return { cost, tree: first.tree?.elements, size: first.elementSize };
    }
    return { cost, tree: undefined, size: own.size, elementSize: larger(first, second) };
  }

  sizeOf(visited: Known, expression: Expression): number {
    return this.#sizeOf(visited, expression);
  }

  #operand(expression: Expression, visited: Known): Operand {
    const type = this.#typeOf(expression);
    const items = visited.tree?.elements?.max;
    return {
      type,
      size: this.#sizeOf(visited, expression),
      itemSize: type.kind === "list" ? items : undefined,
      literal: expression.node === "literal" ? expression.value : undefined,
    };
  }

  #list(expression: Node<"list">, scope: Scope): Visited {
    let cost = listCost;
    let elementSize = 0;
    for (const { value } of expression.items) {
      const item = this.visit(value, scope);
      cost = plus(cost, item.cost);
      elementSize = Math.max(elementSize, this.#sizeOf(item, value));
    }
    return { cost, tree: undefined, size: expression.items.length, elementSize };
  }

  #map(expression: Node<"map">, scope: Scope): Visited {
    let cost = mapCost;
    let elementSize = 0;
    let keySize = 0;
    for (const { key, value } of expression.entries) {
      const ownKey = this.visit(key, scope);
      const own = this.visit(value, scope);
      cost = plus(cost, plus(ownKey.cost, own.cost));
      keySize = Math.max(keySize, this.#sizeOf(ownKey, key));
      elementSize = Math.max(elementSize, this.#sizeOf(own, value));
    }
    return { cost, tree: undefined, size: expression.entries.length, elementSize, keySize };
  }

  #comprehension(expression: Comprehension, scope: Scope): Visited {
    const { fold, name, secondName } = expression;
    const range = this.visit(expression.range, scope);
    const rounds = this.#sizeOf(range, expression.range);
    const isMap = this.#typeOf(expression.range).kind === "map";
    const key = { tree: range.tree?.keys, size: isMap ? range.keySize : 1 };
    const value = { tree: range.tree?.elements, size: range.elementSize };
    const inner = new Map(scope);
    inner.set(name, secondName === undefined && !isMap ? value : key);
    if (secondName !== undefined) inner.set(secondName, value);
    const body = this.visit(expression.body, inner);
    const filter = expression.filter === undefined ? 0 : this.visit(expression.filter, inner).cost;
    const { before, round, after } = loopCosts[fold];
    const loop = times(rounds, plus(round, plus(body.cost, filter)));
    const cost = plus(plus(range.cost, before + after), loop);
    if (before === 0) return { cost, tree: undefined, size: 1 };
    const elementSize = fold === "filter" ? value.size : this.#sizeOf(body, expression.body);
    if (fold !== "sortBy") return { cost, tree: undefined, size: rounds, elementSize };
    const sorting = plus(times(2, times(rounds, rounds)), listCost + 1);
    return { cost: plus(cost, sorting), tree: range.tree, size: rounds, elementSize: value.size };
  }
}

/** Before the loop, in each round, and after it. */
const loopCosts: Readonly<
  Record<Comprehension["fold"], { before: number; round: number; after: number }>
> = {
  all: { before: 0, round: allRound, after: resultCost },
  exists: { before: 0, round: existsRound, after: resultCost },
  existsOne: { before: 0, round: existsOneRound, after: existsOneResult },
  filter: { before: listCost, round: appendRound + 1, after: resultCost },
  list: { before: listCost, round: appendRound, after: resultCost },
  sortBy: { before: 2 * listCost, round: appendRound, after: 2 * resultCost },
  map: { before: mapCost, round: insertRound, after: resultCost },
  mapEntries: { before: mapCost, round: insertRound - 1, after: resultCost },
};

const nothing: Visited = { cost: 0, tree: undefined, size: undefined };

function sizeIn(
  estimation: Estimation,
  visited: Known,
  expression: Expression | undefined,
): number {
  return expression === undefined ? unbounded : estimation.sizeOf(visited, expression);
}

function larger(a: Known | undefined, b: Known | undefined): number | undefined {
  if (a?.elementSize === undefined) return b?.elementSize;
  return Math.max(a.elementSize, b?.elementSize ?? 0);
}

function literalSize(value: unknown): number {
  if (typeof value === "string") return runes(value).length;
  return value instanceof Uint8Array ? value.length : 1;
}

/** Of a size that does not depend on the value. */
function isScalar(type: Type): boolean {
  if (type.kind === "optional") return isScalar(type.of);
  if (type.kind !== "simple") return false;
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.name);
}
