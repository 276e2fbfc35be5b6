// Runs a checked expression. Every step costs something, and an expression that costs more than it
// may ends at once: a definition cannot keep the server busy. An error in one operand of `&&` and
// `||` does not matter when the other one decides.
import { readField } from "./access.ts";
import { runComprehension } from "./comprehension.ts";
import { type Functions, fits } from "./overloads.ts";
import type { Expression } from "./syntax.ts";
import {
  CelCostError,
  CelError,
  isKey,
  type KeyValue,
  ListValue,
  MapValue,
  OptionalValue,
  type Value,
} from "./values.ts";

export interface Outcome {
  readonly cost: number;
  /** Undefined when it failed. */
  readonly value: Value | undefined;
  /** Why it failed, in cel-go's words. */
  readonly error: string | undefined;
}

export function evaluate(
  expression: Expression,
  variables: ReadonlyMap<string, Value>,
  options: { readonly functions: Functions; readonly costLimit: number },
): Outcome {
  const evaluation = new Evaluation(options.functions, options.costLimit);
  try {
    const value = evaluation.run(expression, variables);
    return { cost: evaluation.cost, value, error: undefined };
  } catch (error) {
    if (error instanceof CelError || error instanceof CelCostError) {
      return { cost: evaluation.cost, value: undefined, error: error.message };
    }
    throw error;
  }
}

export type Scope = ReadonlyMap<string, Value>;
type Node<Name extends Expression["node"]> = Extract<Expression, { node: Name }>;

/** What cel-go counts for making a list and a map. */
const listCost = 10;
const mapCost = 30;

export class Evaluation {
  readonly #functions: Functions;
  readonly #limit: number;
  #cost = 0;

  constructor(functions: Functions, limit: number) {
    this.#functions = functions;
    this.#limit = limit;
  }

  get cost(): number {
    return this.#cost;
  }

  charge(cost: number): void {
    this.#cost += cost;
    if (this.#cost > this.#limit) {
      throw new CelCostError("operation cancelled: actual cost limit exceeded");
    }
  }

  run(expression: Expression, scope: Scope): Value {
    switch (expression.node) {
      case "literal":
        return expression.value;
      case "name":
        return this.#name(expression.name, scope);
      case "field":
        if (!expression.isTest) this.charge(1);
        return readField(this.run(expression.of, scope), expression);
      case "call":
        return this.#call(expression, scope);
      case "list":
        return this.#list(expression, scope);
      case "map":
        return this.#map(expression, scope);
      case "bind": {
        const value = this.run(expression.value, scope);
        return this.run(expression.body, new Map([...scope, [expression.name, value]]));
      }
      case "comprehension":
        return runComprehension(this, expression, scope);
    }
  }

  #name(name: string, scope: Scope): Value {
    this.charge(1);
    const value = scope.get(name);
    if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
    return value;
  }

  #call(expression: Node<"call">, scope: Scope): Value {
    const { name, target, args } = expression;
    const [first, second, third] = args;
    if (target === undefined && first !== undefined && second !== undefined) {
      if (name === "_&&_") return this.#logical(first, second, scope, false);
      if (name === "_||_") return this.#logical(first, second, scope, true);
      if (name === "_?_:_" && third !== undefined) {
        return this.#conditional(first, second, third, scope);
      }
    }
    const operands = target === undefined ? args : [target, ...args];
    const values = operands.map((operand) => this.run(operand, scope));
    return this.call(name, target !== undefined, values);
  }

  call(name: string, isMethod: boolean, values: readonly Value[]): Value {
    for (const overload of this.#functions.find(name, isMethod, values.length)) {
      if (values.every((value, index) => fits(overload.params[index] ?? anything, value))) {
        this.charge(overload.cost?.(values) ?? 1);
        return overload.run(values);
      }
    }
    throw new CelError("no such overload");
  }

  /** `decisive` is the operand that settles it: false for `&&`, true for `||`. */
  #logical(left: Expression, right: Expression, scope: Scope, decisive: boolean): Value {
    const first = this.attempt(left, scope);
    if (first === decisive) return decisive;
    const second = this.attempt(right, scope);
    if (second === decisive) return decisive;
    for (const operand of [first, second]) {
      if (operand instanceof CelError) throw operand;
      if (typeof operand !== "boolean") throw new CelError("no such overload");
    }
    return !decisive;
  }

  #conditional(condition: Expression, yes: Expression, no: Expression, scope: Scope): Value {
    const value = this.run(condition, scope);
    if (typeof value !== "boolean") throw new CelError("no such overload");
    return this.run(value ? yes : no, scope);
  }

  /** The value, or the error it ended in. */
  attempt(expression: Expression, scope: Scope): Value | CelError {
    try {
      return this.run(expression, scope);
    } catch (error) {
      if (error instanceof CelError) return error;
      throw error;
    }
  }

  #list(expression: Node<"list">, scope: Scope): Value {
    this.charge(listCost);
    const items: Value[] = [];
    for (const { value, isOptional } of expression.items) {
      const item = this.run(value, scope);
      if (!isOptional) items.push(item);
      else if (item instanceof OptionalValue && item.value !== undefined) items.push(item.value);
    }
    return new ListValue(items);
  }

  #map(expression: Node<"map">, scope: Scope): Value {
    this.charge(mapCost);
    const entries: [KeyValue, Value][] = [];
    for (const { key, value, isOptional } of expression.entries) {
      const madeKey = this.run(key, scope);
      if (!isKey(madeKey)) throw new CelError("unsupported key type");
      const made = this.run(value, scope);
      if (!isOptional) entries.push([madeKey, made]);
      else if (made instanceof OptionalValue && made.value !== undefined) {
        entries.push([madeKey, made.value]);
      }
    }
    return new MapValue(entries);
  }
}

const anything = { kind: "dyn" } as const;
