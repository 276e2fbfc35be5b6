// Regular expressions of schemas and rules. They come from whoever may write a definition, so they
// run on an engine without backtracking (RE2, as Go's): the time is linear in the text, whatever the
// pattern. JavaScript's own engine could be kept busy for hours by one short pattern.
import { RE2JS, RE2JSSyntaxException } from "re2js";

/** So many compiled patterns are kept; a cluster's definitions together have some hundreds. */
const maxKept = 2000;

const compiled = new Map<string, RE2JS>();

/** What is wrong with the pattern, in Go's words; undefined when nothing is. */
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

/** All occurrences in the text, or the first so many. */
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
