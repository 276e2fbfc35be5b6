// Finds the type of an expression, or what is wrong with it, in cel-go's words. The tree it gives
// back is the one to run: qualified names have become constants or functions of a namespace.

import {
  type Checked,
  foldType,
  freeType,
  isOpen,
  literalType,
  qualifiedName,
  renamed,
  type Scope,
  typeConstant,
  typeWord,
} from "./checked-types.ts";
import { clauseProblem, formatClauses } from "./functions/format-clauses.ts";
import { literalIssues } from "./literal-check.ts";
import type { Functions } from "./overloads.ts";
import type { Comprehension, Expression, Issue, ListItem, MapEntry } from "./syntax.ts";
import {
  Bindings,
  boolType,
  dynType,
  formatType,
  intType,
  isSimple,
  listOf,
  mapOf,
  optionalOf,
  type Type,
} from "./types.ts";

export interface CheckOutcome extends Checked {
  readonly issues: readonly Issue[];
  /** Of the declared ones, those the expression refers to. */
  readonly usedNames: ReadonlySet<string>;
  /** Of each part of the expression. */
  readonly types: ReadonlyMap<Expression, Type>;
}

export function checkExpression(
  expression: Expression,
  variables: ReadonlyMap<string, Type>,
  functions: Functions,
): CheckOutcome {
  const checker = new Checker(functions);
  const checked = checker.check(expression, variables);
  const late = [...checker.lateIssues, ...literalIssues(checked.expression)];
  const issues = checker.issues.length > 0 ? checker.issues : late;
  return { ...checked, issues, usedNames: checker.usedNames, types: checker.types };
}

type Node<Name extends Expression["node"]> = Extract<Expression, { node: Name }>;

class Checker {
  readonly issues: Issue[] = [];
  /** What is wrong in the style of it: reported where nothing else is. */
  readonly lateIssues: Issue[] = [];
  readonly usedNames = new Set<string>();
  readonly types = new Map<Expression, Type>();
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  check(expression: Expression, scope: Scope): Checked {
    const checked = this.#check(expression, scope);
    this.types.set(checked.expression, checked.type);
    return checked;
  }

  #check(expression: Expression, scope: Scope): Checked {
    switch (expression.node) {
      case "literal":
        return { expression, type: literalType(expression.value) };
      case "name":
        return this.#name(expression, scope);
      case "field":
        return this.#field(expression, scope);
      case "call":
        return this.#call(expression, scope);
      case "list":
        return this.#list(expression, scope);
      case "map":
        return this.#map(expression, scope);
      case "bind":
        return this.#bind(expression, scope);
      case "comprehension":
        return this.#comprehension(expression, scope);
    }
  }

  #report(at: number, message: string): Type {
    this.issues.push({ at, message });
    return dynType;
  }

  #name(expression: Node<"name">, scope: Scope): Checked {
    const type = scope.get(expression.name);
    if (type !== undefined) {
      this.usedNames.add(expression.name);
      return { expression, type };
    }
    const constant = typeConstant(expression.name, expression.at);
    if (constant !== undefined) return constant;
    const message = `undeclared reference to '${expression.name}' (in container '')`;
    return { expression, type: this.#report(expression.at, message) };
  }

  #field(expression: Node<"field">, scope: Scope): Checked {
    const qualified = qualifiedName(expression, scope);
    const constant = qualified === undefined ? undefined : typeConstant(qualified, expression.at);
    if (constant !== undefined && !expression.isTest) return constant;
    const of = this.check(expression.of, scope);
    const found = this.#fieldType(of.type, expression);
    const type = expression.isTest ? boolType : found;
    return { expression: { ...expression, of: of.expression }, type };
  }

  #fieldType(of: Type, { name, at, isOptional }: Node<"field">): Type {
    switch (of.kind) {
      case "dyn":
      case "param":
        return isOptional ? optionalOf(dynType) : dynType;
      case "map":
        return isOptional ? optionalOf(of.value) : of.value;
      case "optional": {
        const inner = this.#fieldType(of.of, { ...noField, name, at });
        return optionalOf(inner.kind === "optional" ? inner.of : inner);
      }
      case "object": {
        const type = of.fields.get(name);
        if (type === undefined) return this.#report(at, `undefined field '${name}'`);
        return isOptional ? optionalOf(type) : type;
      }
      case "list":
      case "simple":
      case "opaque":
        return this.#report(at, `type '${formatType(of)}' does not support field selection`);
    }
  }

  #call(expression: Node<"call">, scope: Scope): Checked {
    const { target, name, at } = expression;
    const namespace = target && qualifiedName(target, scope);
    if (namespace !== undefined && this.#functions.has(`${namespace}.${name}`)) {
      const call = { ...expression, target: undefined, name: `${namespace}.${name}` };
      return this.#call(call, scope);
    }
    if (name === "_&&_" || name === "_||_") return this.#logical(expression, scope);
    const receiver = target && this.check(target, scope);
    const lateBefore = this.lateIssues.length;
    const args = expression.args.map((arg) => this.check(arg, scope));
    if (name === "format" && receiver !== undefined) {
      // What is formatted may be of several types.
      this.lateIssues.length = lateBefore;
      this.#formatArguments(expression, scope);
    }
    const all = receiver === undefined ? args : [receiver, ...args];
    const type = this.#resultType(
      { name, at, isMethod: receiver !== undefined },
      all.map((arg) => arg.type),
    );
    const checked = {
      ...expression,
      target: receiver?.expression,
      args: args.map((arg) => arg.expression),
    };
    return { expression: checked, type };
  }

  /** A template that is a literal can be held against the types of what it gets. */
  #formatArguments({ target, args, at }: Node<"call">, scope: Scope): void {
    const [list] = args;
    if (target?.node !== "literal" || typeof target.value !== "string") return;
    if (list?.node !== "list") return;
    for (const [index, { verb }] of formatClauses(target.value).entries()) {
      const item = list.items[index];
      if (item === undefined) {
        this.lateIssues.push({ at, message: `index ${index} out of range` });
        return;
      }
      const { type } = new Checker(this.#functions).check(item.value, scope);
      const problem = isOpen(type) ? undefined : clauseProblem(verb, typeWord(type));
      if (problem !== undefined) this.lateIssues.push({ at: item.value.at, message: problem });
    }
  }

  #logical(expression: Node<"call">, scope: Scope): Checked {
    const args = expression.args.map((arg) => this.#condition(arg, scope).expression);
    return { expression: { ...expression, args }, type: boolType };
  }

  #resultType(
    { name, at, isMethod }: { name: string; at: number; isMethod: boolean },
    given: readonly Type[],
  ): Type {
    if (!this.#functions.has(name)) {
      return this.#report(at, `undeclared reference to '${name}' (in container '')`);
    }
    const results: Type[] = [];
    for (const { params, result } of this.#functions.find(name, isMethod, given.length)) {
      const bindings = new Bindings();
      const fresh = params.map((param) => renamed(param));
      if (fresh.every((param, index) => bindings.accepts(param, given[index] ?? dynType))) {
        results.push(bindings.apply(renamed(result)));
      }
    }
    const [first] = results;
    if (first === undefined) {
      const shown = given.map(formatType);
      const [receiver, ...rest] = shown;
      const args = isMethod ? `${receiver}.(${rest.join(", ")})` : `(${shown.join(", ")})`;
      return this.#report(at, `found no matching overload for '${name}' applied to '${args}'`);
    }
    return results.every((type) => formatType(type) === formatType(first)) ? first : dynType;
  }

  #list(expression: Node<"list">, scope: Scope): Checked {
    const items: ListItem[] = [];
    let type: Type | undefined;
    for (const { value, isOptional } of expression.items) {
      const item = this.check(value, scope);
      items.push({ value: item.expression, isOptional });
      const own = isOptional ? this.#unwrapped(item.type, value.at) : item.type;
      type = this.#join(type, own, value.at);
    }
    return { expression: { ...expression, items }, type: listOf(type ?? freeType()) };
  }

  #map(expression: Node<"map">, scope: Scope): Checked {
    const entries: MapEntry[] = [];
    let keyType: Type | undefined;
    let valueType: Type | undefined;
    for (const { key, value, isOptional } of expression.entries) {
      const checkedKey = this.check(key, scope);
      const checkedValue = this.check(value, scope);
      entries.push({ key: checkedKey.expression, value: checkedValue.expression, isOptional });
      keyType = this.#join(keyType, checkedKey.type, key.at);
      const own = isOptional ? this.#unwrapped(checkedValue.type, value.at) : checkedValue.type;
      valueType = this.#join(valueType, own, value.at);
    }
    const type = mapOf(keyType ?? freeType(), valueType ?? freeType());
    return { expression: { ...expression, entries }, type };
  }

  #unwrapped(type: Type, at: number): Type {
    if (type.kind === "optional") return type.of;
    if (type.kind === "dyn") return dynType;
    const shown = formatType(type);
    return this.#report(at, `expected type 'optional_type(${shown})' but found '${shown}'`);
  }

  /** Literals hold values of one type (HomogeneousAggregateLiterals). */
  #join(known: Type | undefined, type: Type, at: number): Type {
    if (known === undefined || new Bindings().accepts(known, type)) return known ?? type;
    const message = `expected type '${formatType(known)}' but found '${formatType(type)}'`;
    this.lateIssues.push({ at, message });
    return dynType;
  }

  #bind(expression: Node<"bind">, scope: Scope): Checked {
    const value = this.check(expression.value, scope);
    const inner = new Map([...scope, [expression.name, value.type]]);
    const body = this.check(expression.body, inner);
    const checked = { ...expression, value: value.expression, body: body.expression };
    return { expression: checked, type: body.type };
  }

  #comprehension(expression: Comprehension, scope: Scope): Checked {
    const range = this.check(expression.range, scope);
    const [keyType, valueType] = this.#rangeTypes(range.type, expression.range.at);
    const { name, secondName, fold } = expression;
    const single = range.type.kind === "map" ? keyType : valueType;
    const names: [string, Type][] =
      secondName === undefined
        ? [[name, single]]
        : [
            [name, keyType],
            [secondName, valueType],
          ];
    const inner = new Map([...scope, ...names]);
    const isQuantifier = fold === "all" || fold === "exists";
    const body = isQuantifier
      ? this.#condition(expression.body, inner)
      : this.check(expression.body, inner);
    const filter = expression.filter && this.check(expression.filter, inner);
    if (filter !== undefined) this.#choice(expression.at, filter.type, listOf(body.type));
    if (fold === "existsOne") this.#choice(expression.at, body.type, intType);
    if (fold === "filter") this.#choice(expression.at, body.type, listOf(single));
    const checked = {
      ...expression,
      range: range.expression,
      filter: filter?.expression,
      body: body.expression,
    };
    return {
      expression: checked,
      type: foldType(fold, { range: range.type, single, keyType, body }),
    };
  }

  /** These macros are conditional expressions underneath, and speak of themselves as such. */
  #choice(at: number, condition: Type, result: Type): void {
    if (isSimple(condition, "bool") || isOpen(condition)) return;
    const shown = [condition, result, result].map(formatType).join(", ");
    this.#report(at, `found no matching overload for '_?_:_' applied to '(${shown})'`);
  }

  #rangeTypes(type: Type, at: number): readonly [Type, Type] {
    switch (type.kind) {
      case "list":
        return [intType, type.of];
      case "map":
        return [type.key, type.value];
      case "dyn":
      case "param":
        return [dynType, dynType];
      case "optional":
      case "simple":
      case "object":
      case "opaque": {
        const rule = "cannot be range of a comprehension (must be list, map, or dynamic)";
        this.#report(at, `expression of type '${formatType(type)}' ${rule}`);
        return [dynType, dynType];
      }
    }
  }

  #condition(expression: Expression, scope: Scope): Checked {
    const checked = this.check(expression, scope);
    if (!isSimple(checked.type, "bool") && !isOpen(checked.type)) {
      const message = `expected type 'bool' but found '${formatType(checked.type)}'`;
      this.#report(expression.at, message);
    }
    return checked;
  }
}

const noField = {
  node: "field",
  of: { node: "literal", at: 0, value: null },
  isTest: false,
  isOptional: false,
} as const;
