// How deep what a client sends may nest. Everything that walks through an object calls itself once
// for each level, and an engine out of stack does not always throw: it may end the process. So the
// depth is known before anything walks, and the counting itself never calls itself.
import { Lexer, Parser } from "yaml";
import { isRecord } from "../kinds/fields.ts";

/**
 * Far more than any schema or object that people write, and a small part of what the stack bears.
 * The real server's decoders stop at 10,000.
 */
export const nestingMax = 500;

/** The error message of Go's decoder for JSON, or invalid JSON, that is too deep. */
export function jsonNestingProblem(text: string): string | undefined {
  // Nearly all requests have fewer brackets than levels are allowed, which is quickly seen.
  if (!hasMore(text, ["{", "["])) return undefined;
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isInString && character === "\\") index++;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    if (depth > nestingMax) return `invalid character '${character}' exceeded max depth`;
  }
  return undefined;
}

/** Detected while the text is read, before there is a tree. */
export function isYamlTooDeep(text: string): boolean {
  // Each level begins with one of these.
  if (!hasMore(text, ["{", "[", ":", "-", "?"])) return false;
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    // Complete documents are not needed, but the parser only builds them when they are taken.
    Array.from(parser.next(lexeme));
    if (parser.stack.length > nestingMax) return true;
  }
  return false;
}

/** For values that were put together from several, and may even contain themselves. */
export function isTooDeep(value: unknown, levels = nestingMax): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const parts = isRecord(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return parts.some((part) => isTooDeep(part, levels - 1));
}

/** Whether the marks occur more often than levels are allowed. */
function hasMore(text: string, marks: readonly string[]): boolean {
  let count = 0;
  for (const mark of marks) {
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
      count++;
      if (count > nestingMax) return true;
    }
  }
  return false;
}
