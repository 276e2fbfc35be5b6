// Functions of texts: CEL's own, its strings extension, and Kubernetes' find and findAll. Places in
// a text count characters, as Go counts runes.
import { findPattern, matchesPattern, patternProblem } from "../../patterns.ts";
import { runes } from "../../runes.ts";
import { define, defineMethod, type Overload } from "../overloads.ts";
import { CelError, ListValue, type Value } from "../values.ts";
import { byPattern, byTexts } from "./costs.ts";
import { formatText } from "./format-text.ts";

export const texts: readonly Overload[] = [
  defineMethod("contains(string, string) bool", (a: string, b: string) => a.includes(b), byTexts),
  defineMethod("startsWith(string, string) bool", (a: string, b: string) => a.startsWith(b)),
  defineMethod("endsWith(string, string) bool", (a: string, b: string) => a.endsWith(b)),
  defineMethod("matches(string, string) bool", matches, byPattern),
  define("matches(string, string) bool", matches, byPattern),
  defineMethod(
    "find(string, string) string",
    (text: string, pattern: string) => {
      return find(text, pattern, 1)[0] ?? "";
    },
    byPattern,
  ),
  defineMethod(
    "findAll(string, string) list(string)",
    (text: string, pattern: string) => {
      return new ListValue(find(text, pattern, Number.POSITIVE_INFINITY));
    },
    byPattern,
  ),
  defineMethod(
    "findAll(string, string, int) list(string)",
    (text: string, pattern: string, limit: bigint) => {
      return new ListValue(find(text, pattern, limit < 0n ? Infinity : Number(limit)));
    },
    byPattern,
  ),
  defineMethod("charAt(string, int) string", charAt, byTexts),
  defineMethod(
    "indexOf(string, string) int",
    (text: string, part: string) => {
      return indexOf(text, part, 0n);
    },
    byTexts,
  ),
  defineMethod("indexOf(string, string, int) int", indexOf, byTexts),
  defineMethod(
    "lastIndexOf(string, string) int",
    (text: string, part: string) => {
      return lastIndexOf(text, part, BigInt(runes(text).length));
    },
    byTexts,
  ),
  defineMethod("lastIndexOf(string, string, int) int", lastIndexOf, byTexts),
  defineMethod("lowerAscii(string) string", lowerAscii, byTexts),
  defineMethod("upperAscii(string) string", upperAscii, byTexts),
  defineMethod(
    "replace(string, string, string) string",
    (text: string, from: string, to: string) => {
      return replace(text, from, to, -1n);
    },
    byTexts,
  ),
  defineMethod("replace(string, string, string, int) string", replace, byTexts),
  defineMethod(
    "split(string, string) list(string)",
    (text: string, by: string) => {
      return split(text, by, -1n);
    },
    byTexts,
  ),
  defineMethod("split(string, string, int) list(string)", split, byTexts),
  defineMethod(
    "substring(string, int) string",
    (text: string, from: bigint) => {
      return substring(text, from, BigInt(runes(text).length));
    },
    byTexts,
  ),
  defineMethod("substring(string, int, int) string", substring, byTexts),
  defineMethod("trim(string) string", (text: string) => text.trim(), byTexts),
  defineMethod("join(list(string)) string", (list: ListValue) => join(list, "")),
  defineMethod("join(list(string), string) string", join),
  defineMethod("format(string, list(dyn)) string", formatText, byTexts),
  define("strings.quote(string) string", (text: string) => JSON.stringify(text), byTexts),
];

function matches(text: string, pattern: string): boolean {
  return matchesPattern(valid(pattern), text);
}

function find(text: string, pattern: string, limit: number): readonly string[] {
  return findPattern(valid(pattern), text, limit);
}

function valid(pattern: string): string {
  const problem = patternProblem(pattern);
  if (problem !== undefined) throw new CelError(problem);
  return pattern;
}

function charAt(text: string, index: bigint): string {
  const characters = runes(text);
  if (index < 0n || index > BigInt(characters.length)) throw outOfRange(index);
  return characters[Number(index)] ?? "";
}

function indexOf(text: string, part: string, from: bigint): bigint {
  const characters = runes(text);
  if (from < 0n || (from > BigInt(characters.length) && part !== "")) throw outOfRange(from);
  const start = characters.slice(0, Number(from)).join("").length;
  const found = text.indexOf(part, start);
  return found < 0 ? -1n : BigInt(runes(text.slice(0, found)).length);
}

function lastIndexOf(text: string, part: string, upTo: bigint): bigint {
  const characters = runes(text);
  if (upTo < 0n || upTo > BigInt(characters.length)) throw outOfRange(upTo);
  const start = characters.slice(0, Number(upTo)).join("").length;
  const found = text.lastIndexOf(part, start);
  return found < 0 ? -1n : BigInt(runes(text.slice(0, found)).length);
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function upperAscii(text: string): string {
  return text.replace(/[a-z]/g, (letter) => letter.toUpperCase());
}

/** How long a text may become by being replaced in: what one request could hold. */
const replacedMaxLength = 3 * 1024 * 1024;

function replace(text: string, from: string, to: string, limit: bigint): string {
  const pieces = from === "" ? runes(text) : text.split(from);
  const gaps = from === "" ? pieces.length + 1 : pieces.length - 1;
  const count = limit < 0n ? gaps : Math.min(gaps, Number(limit));
  if (text.length + count * to.length > replacedMaxLength) throw new CelError("string too long");
  if (from === "") {
    const parts = pieces.map((piece, index) => (index < count ? to + piece : piece));
    return parts.join("") + (count > pieces.length ? to : "");
  }
  const done = pieces.slice(0, count + 1).join(to);
  return [done, ...pieces.slice(count + 1)].join(from);
}

function split(text: string, by: string, limit: bigint): ListValue {
  const pieces = by === "" ? runes(text) : text.split(by);
  if (limit === 0n) return new ListValue([]);
  if (limit < 0n || pieces.length <= limit) return new ListValue(pieces);
  const head = pieces.slice(0, Number(limit) - 1);
  return new ListValue([...head, pieces.slice(Number(limit) - 1).join(by)]);
}

function substring(text: string, from: bigint, to: bigint): string {
  const characters = runes(text);
  const length = BigInt(characters.length);
  if (from > to) {
    throw new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  }
  if (from < 0n || from > length) throw outOfRange(from);
  if (to < 0n || to > length) throw outOfRange(to);
  return characters.slice(Number(from), Number(to)).join("");
}

function join(list: ListValue, by: string): string {
  return list.items.map(textOrError).join(by);
}

function textOrError(item: Value): string {
  if (typeof item === "string") return item;
  throw new CelError("join: invalid input");
}

function outOfRange(index: bigint): CelError {
  return new CelError(`index out of range: ${index}`);
}
