// Texts as Go reads them: characters are code points, and patterns are RE2. Patterns come from anyone
// who may write a definition. RE2 does not backtrack, so the time is linear in the text; one short
// pattern could keep JavaScript's own engine busy for hours.
import { RE2JS, RE2JSSyntaxException } from "re2js";

export function runes(text: string): readonly string[] {
  return Array.from(text);
}

/** Below and above the printable characters of ASCII. */
const lastControl = 0x1f;
const deleteCharacter = 0x7f;

/** A URI with one is invalid. */
export function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= lastControl || code === deleteCharacter) return true;
  }
  return false;
}

/** Compiled patterns that are kept; the definitions of a cluster have some hundreds. */
const maxKept = 2000;

const compiled = new Map<string, RE2JS>();

/** Go's error message for the pattern; undefined when it is valid. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compile(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error.message;
    throw error;
  }
}

/** Whether the pattern occurs in the text. The pattern must be a valid one. */
export function matchesPattern(pattern: string, text: string): boolean {
  return compile(pattern).test(text);
}

/** The occurrences in the text, at most `limit`. */
export function findPattern(pattern: string, text: string, limit: number): readonly string[] {
  const matcher = compile(pattern).matcher(text);
  const found: string[] = [];
  while (found.length < limit && matcher.find()) found.push(matcher.group() ?? "");
  return found;
}

function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = RE2JS.compile(pattern);
  if (compiled.size >= maxKept) compiled.clear();
  compiled.set(pattern, made);
  return made;
}
