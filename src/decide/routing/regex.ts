// Which regular expressions a route may have. nginx matches them with PCRE, which backtracks; so
// only those are taken that an engine without backtracking (RE2) takes as well: no references back
// and no looking around. And only what PCRE is sure to compile and to read in the same way, for one
// expression that it refused would take its whole host with it.
import { RE2JS, RE2JSException } from "re2js";
import { shown } from "./shown-text.ts";

/** As the proxy has it (proxy/lua/lockstep/host_entry.lua). */
export const maxRegexLength = 512;

/** With repetitions written out; PCRE's compiled form has 64 kB, and a class takes 33 bytes of it. */
const maxAtoms = 1_000;

/** By the text: to read one takes up to a millisecond, and an Ingress is read whenever it changes. */
const judged = new Map<string, string | undefined>();

/** Some megabytes at most; then all are forgotten. */
const maxJudged = 10_000;

/** Its problem; undefined if there is none. */
export function regexProblem(pattern: string): string | undefined {
  const which = `the regular expression ${shown(pattern)}`;
  if (pattern.length > maxRegexLength) return `${which} has more than ${maxRegexLength} characters`;
  if (judged.has(pattern)) return judged.get(pattern);
  const problem = problemOf(pattern, which);
  if (judged.size >= maxJudged) judged.clear();
  judged.set(pattern, problem);
  return problem;
}

function problemOf(pattern: string, which: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(pattern)) return `${which} has characters outside printable ASCII`;
  const strange = escapesOf(pattern).find((one) => /^\\[A-Za-z0-9]/.test(one) && !isKnown(one));
  if (strange !== undefined) return `${which} has the escape ${strange}, which is not supported`;
  const name = /\(\?P?<(?![A-Za-z_]\w{0,30}>)/.exec(pattern);
  if (name !== null) return `${which} has a group whose name is too long or begins with a digit`;
  // Before it is compiled, which takes the longer the larger it is.
  if (atomsOf(pattern) > maxAtoms) return `${which} has repetitions that make it too large`;
  try {
    RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return `${which} is not valid for RE2 (${error.message})`;
  }
  return isReadOtherwise(pattern) ? `${which} is not valid for PCRE` : undefined;
}

function escapesOf(pattern: string): readonly string[] {
  return pattern.match(/\\./g) ?? [];
}

/** Those that mean the same to both engines. */
function isKnown(escaped: string): boolean {
  return /^\\[dDwWsSbBAztnrf]$/.test(escaped);
}

/** Characters by which a path shows that it is meant as a regular expression. */
export function looksLikeRegex(path: string): boolean {
  return /[()[\]{}*+?|^$\\]/.test(path);
}

/** Its pieces: an escape, a switch, a class, a repetition, or one character. */
const pieces = /\\.|\(\?[a-zA-Z-]+\)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{\d+(?:,\d*)?\}|./g;

/** A repetition of nothing, or a class that begins like the name of one: RE2 takes both. */
function isReadOtherwise(pattern: string): boolean {
  let isNothing = false;
  for (const [piece] of pattern.matchAll(pieces)) {
    if (isNothing && /^([*+?]|\{\d+(,\d*)?\})$/.test(piece)) return true;
    if (/^\[[:.=]/.test(piece)) return true;
    isNothing = /^([\^$]|\\[bBAz]|\(\?[a-zA-Z-]+\))$/.test(piece);
  }
  return false;
}

/** PCRE's compiled form and its machine code, roughly; a hostile one has some hundred bytes an atom. */
const bytesOfExpression = 512;
const bytesOfAtom = 64;

/** The memory that the proxy needs for a compiled expression, in each worker that has it. */
export function compiledBytes(pattern: string): number {
  return bytesOfExpression + bytesOfAtom * Math.min(atomsOf(pattern), maxAtoms);
}

/** How many characters and classes it has when every repetition is written out. */
function atomsOf(pattern: string): number {
  const outer: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [piece] of pattern.matchAll(pieces)) {
    const [, least, most] = /^\{(\d+)(?:,(\d*))?\}$/.exec(piece) ?? [];
    if (least !== undefined) {
      sum += last * Math.max(0, Math.max(Number(least), Number(most ?? 0)) - 1);
    } else if (piece === "(") {
      outer.push(sum);
      sum = 0;
      last = 0;
    } else if (piece === ")") {
      // A group is something by itself, even around nothing.
      last = sum + 1;
      sum = (outer.pop() ?? 0) + last;
    } else {
      last = 1;
      sum += 1;
    }
  }
  return sum;
}
