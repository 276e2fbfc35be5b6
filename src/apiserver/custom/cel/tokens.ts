// From the text of a CEL expression to its tokens.
import { readString } from "./string-literals.ts";
import { CelSyntaxError } from "./syntax.ts";
import { Uint, type Value } from "./values.ts";

export type Token = { readonly at: number; readonly end: number } & (
  | { readonly type: "name"; readonly text: string }
  | { readonly type: "symbol"; readonly text: string }
  | { readonly type: "literal"; readonly value: Value }
  | { readonly type: "end" }
);

/** Longer ones first: `<=` before `<`. */
const symbols = [
  ..."== != <= >= && ||".split(" "),
  ..."< > + - * / % ! ? : . , ( ) [ ] { }".split(" "),
];

/** Expressions are bounded by what a definition may hold; this bounds one of them. */
const maxTokens = 20_000;

const int64Max = 2n ** 63n;
const uint64Max = 2n ** 64n - 1n;

export function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = skipSpace(source, 0);
  while (at < source.length) {
    const token = readToken(source, at);
    tokens.push(token);
    if (tokens.length > maxTokens) {
      throw new CelSyntaxError({ at, message: "expression has too many tokens" });
    }
    at = skipSpace(source, token.end);
  }
  tokens.push({ type: "end", at: source.length, end: source.length });
  return tokens;
}

const spacePattern = /(?:[ \t\r\n\f]|\/\/[^\n]*)*/y;
const namePattern = /[A-Za-z_][A-Za-z0-9_]*/y;
const quotedNamePattern = /`[A-Za-z0-9_.\-/ ]+`/y;
const doublePattern = /(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/y;
const integerPattern = /(?:0x[0-9a-fA-F]+|\d+)[uU]?/y;

function skipSpace(source: string, at: number): number {
  return at + (matchAt(spacePattern, source, at)?.length ?? 0);
}

function readToken(source: string, at: number): Token {
  const literal = readString(source, at);
  if (literal !== undefined) return { type: "literal", at, ...literal };
  const number = readNumber(source, at);
  if (number !== undefined) return number;
  const name = matchAt(namePattern, source, at);
  if (name !== undefined) return { type: "name", text: name, at, end: at + name.length };
  const quoted = matchAt(quotedNamePattern, source, at);
  if (quoted !== undefined) {
    return { type: "name", text: quoted.slice(1, -1), at, end: at + quoted.length };
  }
  const symbol = symbols.find((text) => source.startsWith(text, at));
  if (symbol !== undefined) return { type: "symbol", text: symbol, at, end: at + symbol.length };
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  const message = `Syntax error: token recognition error at: '${character}'`;
  throw new CelSyntaxError({ at, message });
}

function readNumber(source: string, at: number): Token | undefined {
  const double = matchAt(doublePattern, source, at);
  if (double !== undefined) {
    return { type: "literal", value: Number(double), at, end: at + double.length };
  }
  const text = matchAt(integerPattern, source, at);
  if (text === undefined) return undefined;
  const end = at + text.length;
  if (/[uU]$/.test(text)) {
    const value = BigInt(text.slice(0, -1));
    if (value > uint64Max) throw new CelSyntaxError({ at, message: "invalid uint literal" });
    return { type: "literal", value: new Uint(value), at, end };
  }
  const value = BigInt(text);
  // One more than the largest is a number only behind a minus, which the parser joins to it.
  if (value > int64Max) throw new CelSyntaxError({ at, message: "invalid int literal" });
  return { type: "literal", value, at, end };
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
