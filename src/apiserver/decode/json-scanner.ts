// Scans JSON text in order, for facts that `JSON.parse` does not report: repeated keys, and syntax
// errors with the messages of Go's decoder. It is slower than `JSON.parse`, so it runs only when that
// failed or a key is known to be repeated.
import { jsonNestingProblem } from "../../kube/yaml/nesting.ts";

export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly code = "JSON_SYNTAX";
}

/** Called at each key or element, before its value is scanned. */
export type JsonVisitor = {
  /** Returns the visitor of the value; undefined if its keys are not visited. */
  key?(key: string): JsonVisitor | undefined;
  element?(index: number): JsonVisitor | undefined;
};

/** Throws a `JsonSyntaxError` at the first error. */
export function scanJson(text: string, visitor?: JsonVisitor): void {
  const scanner = new JsonScanner(text);
  scanner.value(visitor);
  scanner.end();
}

/** The message of Go's decoder for text that `JSON.parse` refuses. */
export function jsonSyntaxProblem(text: string): string {
  const tooDeep = jsonNestingProblem(text);
  if (tooDeep !== undefined) return tooDeep;
  try {
    scanJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      return error.message;
    }
    throw error;
  }
  return "invalid JSON";
}

const whitespace = " \t\r\n";
const literals = { t: "true", f: "false", n: "null" };
const escapes = '"\\/bfnrt';

class JsonScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) {
      throw this.#unexpected("after top-level value");
    }
  }

  value(visitor: JsonVisitor | undefined): void {
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === "{") {
      this.#object(visitor);
    } else if (first === "[") {
      this.#array(visitor);
    } else if (first === '"') {
      this.#string();
    } else if (first === "t" || first === "f" || first === "n") {
      this.#literal(literals[first]);
    } else {
      this.#number();
    }
  }

  #object(visitor: JsonVisitor | undefined): void {
    this.#at++;
    this.#skipSpace();
    if (this.#text[this.#at] === "}") {
      this.#at++;
      return;
    }
    for (;;) {
      this.#expect('"', "looking for beginning of object key string");
      this.#at--;
      const key = this.#string();
      this.#expect(":", "after object key");
      this.value(visitor?.key?.(key));
      if (this.#expect(",}", "after object key:value pair") === "}") {
        return;
      }
    }
  }

  #array(visitor: JsonVisitor | undefined): void {
    this.#at++;
    this.#skipSpace();
    if (this.#text[this.#at] === "]") {
      this.#at++;
      return;
    }
    for (let index = 0; ; index++) {
      this.value(visitor?.element?.(index));
      if (this.#expect(",]", "after array element") === "]") {
        return;
      }
    }
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      const character = this.#next("in string literal");
      if (character === '"') {
        const value: unknown = JSON.parse(this.#text.slice(start, this.#at));
        return String(value);
      }
      if (character < " ") {
        this.#at--;
        throw this.#unexpected("in string literal");
      }
      if (character === "\\") {
        this.#escape();
      }
    }
  }

  #escape(): void {
    const character = this.#next("in string escape code");
    if (character === "u") {
      for (let digit = 0; digit < 4; digit++) {
        this.#one(/[0-9a-fA-F]/, "in \\u hexadecimal character escape");
      }
    } else if (!escapes.includes(character)) {
      this.#at--;
      throw this.#unexpected("in string escape code");
    }
  }

  #literal(word: string): void {
    for (const [index, expected] of word.split("").entries()) {
      if (this.#text[this.#at] !== expected) {
        const context = `in literal ${word} (expecting '${expected}')`;
        throw this.#unexpected(index === 0 ? "looking for beginning of value" : context);
      }
      this.#at++;
    }
  }

  #number(): void {
    if (this.#text[this.#at] === "-") {
      this.#at++;
      this.#one(/\d/, "in numeric literal");
    } else {
      this.#one(/\d/, "looking for beginning of value");
    }
    if (this.#text[this.#at - 1] !== "0") {
      this.#digits();
    }
    if (this.#text[this.#at] === ".") {
      this.#at++;
      this.#one(/\d/, "after decimal point in numeric literal");
      this.#digits();
    }
    if (/[eE]/.test(this.#text[this.#at] ?? "")) {
      this.#at++;
      if (/[+-]/.test(this.#text[this.#at] ?? "")) {
        this.#at++;
      }
      this.#one(/\d/, "in exponent of numeric literal");
      this.#digits();
    }
  }

  #digits(): void {
    while (/\d/.test(this.#text[this.#at] ?? "")) {
      this.#at++;
    }
  }

  #one(pattern: RegExp, context: string): void {
    if (!pattern.test(this.#text[this.#at] ?? "")) {
      throw this.#unexpected(context);
    }
    this.#at++;
  }

  #expect(characters: string, context: string): string {
    this.#skipSpace();
    const character = this.#text[this.#at];
    if (character === undefined || !characters.includes(character)) {
      throw this.#unexpected(context);
    }
    this.#at++;
    return character;
  }

  #next(context: string): string {
    const character = this.#text[this.#at];
    if (character === undefined) {
      throw this.#unexpected(context);
    }
    this.#at++;
    return character;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && whitespace.includes(this.#text[this.#at] ?? "")) {
      this.#at++;
    }
  }

  #unexpected(context: string): JsonSyntaxError {
    const character = this.#text[this.#at];
    return new JsonSyntaxError(
      character === undefined
        ? "unexpected end of JSON input"
        : `invalid character ${quoted(character)} ${context}`,
    );
  }
}

function quoted(character: string): string {
  if (character === "'") {
    return "'\\''";
  }
  return character === '"' ? "'\"'" : `'${JSON.stringify(character).slice(1, -1)}'`;
}
