// From tokens to the syntax tree. Precedence, from weak to strong: `?:`, `||`, `&&`, comparisons,
// `+ -`, `* / %`, unary, member access. Binary operators group to the left, except that chains of
// `||` and of `&&` become balanced trees. No tree is deeper than the stack bears.
import { runes } from "../runes.ts";
import { balanced, type Link, leftToRight, operator } from "./chains.ts";
import { childrenOf } from "./children.ts";
import { expandMacro } from "./macros.ts";
import {
  CelSyntaxError,
  type Expression,
  type ListItem,
  type MapEntry,
  nowhere,
} from "./syntax.ts";
import { type Token, tokenize } from "./tokens.ts";

/** How deep expressions may nest: below what the stack bears. As in cel-go. */
const maxDepth = 250;

/** How long an expression may be, in cel-go. */
const maxCodePoints = 100_000;

export function parse(source: string): Expression {
  const size = runes(source).length;
  if (size > maxCodePoints) {
    const limits = `size: ${size}, limit ${maxCodePoints}`;
    throw tooMuch(`expression code point size exceeds limit: ${limits}`);
  }
  const expression = new Parser(tokenize(source)).parse();
  if (isDeeper(expression, maxDepth)) throw tooMuch("max recursion depth exceeded");
  return expression;
}

function tooMuch(message: string): CelSyntaxError {
  return new CelSyntaxError({ at: nowhere, message });
}

/** Chains of members and of operators are deep without any nesting in the source. */
function isDeeper(expression: Expression, levels: number): boolean {
  const parts = childrenOf(expression);
  return parts.length > 0 && (levels === 0 || parts.some((part) => isDeeper(part, levels - 1)));
}

/** The levels of `||` and `&&`. */
const logicalLevels = 2;

/** From weak to strong, with the function each operator is. */
const binaryLevels: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["<", "<=", ">", ">=", "==", "!=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

const reserved: ReadonlySet<string> = new Set(
  (
    "as break const continue else for function if import let loop package namespace return var " +
    "void while in true false null"
  ).split(" "),
);

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    const expression = this.#expression();
    if (this.#peek.type !== "end") throw this.#unexpected("<EOF>");
    return expression;
  }

  get #peek(): Token {
    const token = this.#tokens[this.#next] ?? this.#tokens.at(-1);
    if (token === undefined) throw new Error("tokens end with an end");
    return token;
  }

  #take(): Token {
    const token = this.#peek;
    this.#next += 1;
    return token;
  }

  #isAt(text: string): boolean {
    const token = this.#peek;
    return (token.type === "symbol" || token.type === "name") && token.text === text;
  }

  #takeIf(text: string): Token | undefined {
    return this.#isAt(text) ? this.#take() : undefined;
  }

  #expect(text: string): Token {
    if (!this.#isAt(text)) throw this.#unexpected(`'${text}'`);
    return this.#take();
  }

  #expression(): Expression {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw tooMuch(`expression recursion limit exceeded: ${maxDepth}`);
    }
    const condition = this.#binary(0);
    const mark = this.#takeIf("?");
    let expression = condition;
    if (mark !== undefined) {
      const yes = this.#binary(0);
      this.#expect(":");
      const no = this.#expression();
      expression = operator("_?_:_", mark.at, condition, yes, no);
    }
    this.#depth -= 1;
    return expression;
  }

  #binary(level: number): Expression {
    const operators = binaryLevels[level];
    if (operators === undefined) return this.#unary();
    const operands = [this.#binary(level + 1)];
    const links: Link[] = [];
    for (;;) {
      const found = operators.find((text) => this.#isAt(text));
      if (found === undefined) break;
      const { at } = this.#take();
      links.push({ name: found === "in" ? "@in" : `_${found}_`, at });
      operands.push(this.#binary(level + 1));
    }
    return level < logicalLevels ? balanced(operands, links) : leftToRight(operands, links);
  }

  #unary(): Expression {
    const mark = this.#takeIf("!") ?? this.#takeIf("-");
    if (mark === undefined) return this.#member();
    const isMinus = mark.type === "symbol" && mark.text === "-";
    // Two of them cancel out, whatever they stand before, as they do in cel-go.
    const sign = isMinus ? "-" : "!";
    let count = 1;
    while (this.#takeIf(sign) !== undefined) count += 1;
    if (count % 2 === 0) return this.#member();
    const token = this.#peek;
    const isNumber = token.type === "literal" && ["bigint", "number"].includes(typeof token.value);
    if (isMinus && isNumber && token.type === "literal") {
      this.#take();
      const { value } = token;
      const negated = typeof value === "bigint" || typeof value === "number" ? -value : value;
      return this.#suffixes({ node: "literal", at: mark.at, value: negated });
    }
    const operand = isMinus ? this.#member() : this.#unary();
    return operator(`${sign}_`, mark.at, operand);
  }

  #member(): Expression {
    return this.#suffixes(this.#primary());
  }

  #suffixes(start: Expression): Expression {
    let expression = start;
    for (;;) {
      const dot = this.#takeIf(".");
      if (dot !== undefined) {
        expression = this.#dotted(expression, dot.at);
        continue;
      }
      const bracket = this.#takeIf("[");
      if (bracket === undefined) return expression;
      const isOptional = this.#takeIf("?") !== undefined;
      const index = this.#expression();
      this.#expect("]");
      expression = operator(isOptional ? "_[?_]" : "_[_]", bracket.at, expression, index);
    }
  }

  #dotted(of: Expression, at: number): Expression {
    const isOptional = this.#takeIf("?") !== undefined;
    const token = this.#take();
    if (token.type !== "name") {
      this.#next -= 1;
      throw this.#unexpected("IDENTIFIER");
    }
    const open = isOptional ? undefined : this.#takeIf("(");
    if (open === undefined) {
      return { node: "field", at, of, name: token.text, isTest: false, isOptional };
    }
    const args = this.#arguments(")");
    return (
      expandMacro({ name: token.text, at: open.at, target: of, args }) ?? {
        node: "call",
        at: open.at,
        name: token.text,
        target: of,
        args,
      }
    );
  }

  #primary(): Expression {
    const token = this.#take();
    if (token.type === "literal") {
      if (token.value === 2n ** 63n) {
        throw new CelSyntaxError({ at: token.at, message: "invalid int literal" });
      }
      return { node: "literal", at: token.at, value: token.value };
    }
    if (token.type === "symbol") return this.#enclosed(token.text, token.at);
    if (token.type === "name") return this.#named(token.text, token.at);
    this.#next -= 1;
    throw this.#unexpected("an expression");
  }

  #enclosed(symbol: string, at: number): Expression {
    switch (symbol) {
      case "(": {
        const inner = this.#expression();
        this.#expect(")");
        return inner;
      }
      case "[":
        return { node: "list", at, items: this.#items() };
      case "{":
        return { node: "map", at, entries: this.#entries() };
      case ".":
        return this.#primary();
      default:
        this.#next -= 1;
        throw this.#unexpected("an expression");
    }
  }

  #named(name: string, at: number): Expression {
    const constant = constants.get(name);
    if (constant !== undefined) return { node: "literal", at, value: constant };
    if (reserved.has(name)) {
      throw new CelSyntaxError({ at, message: `reserved identifier: ${name}` });
    }
    const open = this.#takeIf("(");
    if (open === undefined) return { node: "name", at, name };
    const args = this.#arguments(")");
    const call = { name, at: open.at, target: undefined, args };
    return expandMacro(call) ?? { node: "call", ...call };
  }

  #arguments(close: string): readonly Expression[] {
    const args: Expression[] = [];
    while (this.#takeIf(close) === undefined) {
      args.push(this.#expression());
      if (!this.#isAt(close)) this.#expect(",");
    }
    return args;
  }

  #items(): readonly ListItem[] {
    const items: ListItem[] = [];
    while (this.#takeIf("]") === undefined) {
      const isOptional = this.#takeIf("?") !== undefined;
      items.push({ value: this.#expression(), isOptional });
      if (!this.#isAt("]")) this.#expect(",");
    }
    return items;
  }

  #entries(): readonly MapEntry[] {
    const entries: MapEntry[] = [];
    while (this.#takeIf("}") === undefined) {
      const isOptional = this.#takeIf("?") !== undefined;
      const key = this.#expression();
      this.#expect(":");
      entries.push({ key, value: this.#expression(), isOptional });
      if (!this.#isAt("}")) this.#expect(",");
    }
    return entries;
  }

  #unexpected(expected: string): CelSyntaxError {
    const token = this.#peek;
    const found =
      token.type === "end" ? "<EOF>" : token.type === "literal" ? "literal" : token.text;
    const message = `Syntax error: mismatched input '${found}' expecting ${expected}`;
    return new CelSyntaxError({ at: token.at, message });
  }
}

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);
