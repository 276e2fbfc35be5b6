// Functions of Kubernetes and of CEL's extensions that the library lacks, and replacements for some of
// its own: positions in a text count code points, and patterns run on RE2.
import { isDeepStrictEqual } from "node:util";
import {
  dns1035Label,
  dnsLabel,
  dnsSubdomain,
  labelValue,
  type NameRule,
  qualifiedName,
} from "../kinds/names.ts";
import { isOfFormat } from "./formats.ts";
import { findPattern, matchesPattern, patternProblem, runes } from "./go-texts.ts";
import { readSchema } from "./json-schema.ts";

/** By signature, in the notation of the library. Handlers get values of the types it names. */
export type CelFunctions = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Given to the handlers by cel.ts. */
export interface CelSurroundings {
  /** Counts work beyond the size of the arguments; throws when there was too much. */
  readonly charge: (units: number) => void;
  readonly optional: (value: unknown) => unknown;
  /** A value as `%s` shows it; undefined for values it does not take. */
  readonly show: (value: unknown) => string | undefined;
}

type List = readonly unknown[];

/** Methods of the library that are replaced; see `celFunctions`. */
export const replacedMethods: ReadonlySet<string> = new Set([
  "getDayOfYear",
  "indexOf",
  "lastIndexOf",
  "lowerAscii",
  "matches",
  "substring",
  "upperAscii",
]);

/** The name under which a replaced method is registered. */
export function replacementOf(method: string): string {
  return `${method}_`;
}

export class NamedFormat {
  readonly rule: NameRule;
  constructor(rule: NameRule) {
    this.rule = rule;
  }
}

const namedFormats: Readonly<Record<string, NameRule>> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label,
  qualifiedName,
  dns1123LabelPrefix: prefixOf(dnsLabel),
  dns1123SubdomainPrefix: prefixOf(dnsSubdomain),
  dns1035LabelPrefix: prefixOf(dns1035Label),
  labelValue,
  uri: openApi("uri", "invalid URI"),
  uuid: openApi("uuid", "does not match the UUID format"),
  byte: openApi("byte", "invalid base64"),
  date: openApi("date", "invalid date"),
  datetime: openApi("date-time", "invalid datetime"),
};

export function celFunctions(around: CelSurroundings): CelFunctions {
  return {
    ...textFunctions(around),
    ...listFunctions(around),
    ...formatFunctions(around),
    "OptionalNamespace.ofNonZeroValue(A): optional<A>": (_: unknown, value: unknown) =>
      around.optional(isZero(value) ? undefined : value),
  };
}

function textFunctions({ charge, show }: CelSurroundings): CelFunctions {
  const matches = (text: string, pattern: string) => {
    chargePattern(charge, text, pattern);
    return matchesPattern(valid(pattern), text);
  };
  const find = (text: string, pattern: string, limit: number) => {
    chargePattern(charge, text, pattern);
    return findPattern(valid(pattern), text, limit);
  };
  return {
    "matches(string, string): bool": matches,
    "string.matches_(string): bool": matches,
    "string.find(string): string": (text: string, pattern: string) =>
      find(text, pattern, 1)[0] ?? "",
    "string.findAll(string): list<string>": (text: string, pattern: string) =>
      find(text, pattern, Number.POSITIVE_INFINITY),
    "string.findAll(string, int): list<string>": (text: string, pattern: string, limit: bigint) =>
      find(text, pattern, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit)),
    "string.charAt(int): string": charAt,
    "string.indexOf_(string): int": (text: string, part: string) => indexOf(text, part, 0n),
    "string.indexOf_(string, int): int": indexOf,
    "string.lastIndexOf_(string): int": (text: string, part: string) =>
      lastIndexOf(text, part, BigInt(runes(text).length)),
    "string.lastIndexOf_(string, int): int": lastIndexOf,
    "string.lowerAscii_(): string": (text: string) =>
      text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
    "string.upperAscii_(): string": (text: string) =>
      text.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
    "string.substring_(int): string": (text: string, from: bigint) =>
      substring(text, from, BigInt(runes(text).length)),
    "string.substring_(int, int): string": substring,
    "string.replace(string, string): string": (text: string, from: string, to: string) =>
      replace(text, from, to, -1n),
    "string.replace(string, string, int): string": replace,
    "string.format(list<dyn>): string": (template: string, args: List) =>
      formatText(template, args, show),
    "stringsNamespace.quote(string): string": (_: unknown, text: string) => JSON.stringify(text),
  };
}

/** Longer ones are refused: compiling a pattern costs far more than reading it. */
const patternMaxLength = 10_000;

/** A pattern of this length runs over a text in the time that reading it takes. */
const patternUnit = 40;

function chargePattern(charge: CelSurroundings["charge"], text: string, pattern: string): void {
  if (pattern.length > patternMaxLength) throw new Error("regular expression too long");
  charge((text.length * pattern.length) / patternUnit + pattern.length);
}

function valid(pattern: string): string {
  const problem = patternProblem(pattern);
  if (problem !== undefined) throw new Error(problem);
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

function substring(text: string, from: bigint, to: bigint): string {
  const characters = runes(text);
  const length = BigInt(characters.length);
  if (from > to) throw new Error(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0n || from > length) throw outOfRange(from);
  if (to > length) throw outOfRange(to);
  return characters.slice(Number(from), Number(to)).join("");
}

/** The longest text that `replace` makes; a request holds no more. */
const replacedMaxLength = 3 * 1024 * 1024;

function replace(text: string, from: string, to: string, limit: bigint): string {
  const pieces = from === "" ? runes(text) : text.split(from);
  const gaps = from === "" ? pieces.length + 1 : pieces.length - 1;
  const count = limit < 0n ? gaps : Math.min(gaps, Number(limit));
  if (text.length + count * to.length > replacedMaxLength) throw new Error("string too long");
  if (from === "") {
    const parts = pieces.map((piece, index) => (index < count ? to + piece : piece));
    return parts.join("") + (count > pieces.length ? to : "");
  }
  const done = pieces.slice(0, count + 1).join(to);
  return [done, ...pieces.slice(count + 1)].join(from);
}

function outOfRange(index: bigint): Error {
  return new Error(`index out of range: ${index}`);
}

/** `%f` shows so many digits without a precision, and `%e` always. */
const defaultPrecision = 6;

/** JavaScript's own limit; more digits than a double has. */
const maxPrecision = 100;

const raisedDigits = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function formatText(template: string, args: List, show: CelSurroundings["show"]): string {
  let next = 0;
  const clauses = /%(?:%|(?:\.(\d+))?([a-zA-Z]))/g;
  return template.replace(clauses, (clause, precision: string | undefined, verb: string) => {
    if (clause === "%%") return "%";
    if (next >= args.length) throw new Error(`index ${next} out of range`);
    const text = formatClause(verb, args[next++], Number(precision ?? defaultPrecision), show);
    if (text === undefined) throw new Error(`error during formatting: %${verb} of another type`);
    return text;
  });
}

/** Undefined for a value that the verb does not take. */
function formatClause(
  verb: string,
  value: unknown,
  precision: number,
  show: CelSurroundings["show"],
): string | undefined {
  const integer = typeof value === "bigint" ? value : undefined;
  switch (verb) {
    case "s":
      return show(value);
    case "d":
      return integer?.toString();
    case "o":
      return integer?.toString(8);
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : integer?.toString(2);
    case "x":
      return hexadecimal(value);
    case "X":
      return hexadecimal(value)?.toUpperCase();
    case "f":
      return typeof value === "number" ? fixed(value, precision) : undefined;
    case "e":
      return typeof value === "number" ? scientific(value) : undefined;
    default:
      return undefined;
  }
}

function hexadecimal(value: unknown): string | undefined {
  if (typeof value === "bigint") return value.toString(16);
  const isBytes = typeof value === "string" || value instanceof Uint8Array;
  return isBytes ? Buffer.from(value).toString("hex") : undefined;
}

function fixed(value: number, precision: number): string {
  const [whole = "", fraction] = value.toFixed(Math.min(precision, maxPrecision)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function scientific(value: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(defaultPrecision).split("e");
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = digits.replace(/\d/g, (digit) => raisedDigits[Number(digit)] ?? "");
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}

/** The longest list `lists.range` makes. */
const rangeMax = 1_000_000n;

function listFunctions({ charge, optional }: CelSurroundings): CelFunctions {
  const containsAll = (a: List, b: List) => {
    charge(a.length * b.length);
    return b.every((item) => a.some((other) => equalValues(item, other)));
  };
  return {
    "list<A>.isSorted(): bool": (list: List) =>
      list.every((item, index) => index === 0 || order(list[index - 1], item) <= 0),
    "list<A>.min(): A": (list: List) => extreme(list, -1),
    "list<A>.max(): A": (list: List) => extreme(list, 1),
    "list<A>.sort(): list<A>": (list: List) => [...list].sort(order),
    "list<int>.sum(): int": (list: readonly bigint[]) => list.reduce((sum, item) => sum + item, 0n),
    "list<double>.sum(): double": (list: readonly number[]) =>
      list.reduce((sum, item) => sum + item, 0),
    "list<A>.indexOf_(A): int": (list: List, item: unknown) =>
      BigInt(list.findIndex((one) => equalValues(one, item))),
    "list<A>.lastIndexOf_(A): int": (list: List, item: unknown) =>
      BigInt(list.findLastIndex((one) => equalValues(one, item))),
    "list<A>.slice(int, int): list<A>": slice,
    "list<list<A>>.flatten(): list<A>": (list: List) => list.flat(),
    "list<A>.flatten(int): list<dyn>": (list: List, depth: bigint) => list.flat(Number(depth)),
    "list<A>.reverse(): list<A>": (list: List) => list.toReversed(),
    "list<A>.distinct(): list<A>": (list: List) => {
      charge(list.length ** 2);
      return list.filter((item, at) => list.findIndex((one) => equalValues(one, item)) === at);
    },
    "list<A>.first(): optional<A>": (list: List) => optional(list[0]),
    "list<A>.last(): optional<A>": (list: List) => optional(list.at(-1)),
    "listsNamespace.range(int): list<int>": (_: unknown, count: bigint) => {
      if (count > rangeMax) throw new Error(`range of ${count} is too long`);
      charge(Number(count));
      return Array.from({ length: Math.max(0, Number(count)) }, (__, index) => BigInt(index));
    },
    "setsNamespace.contains(list<A>, list<A>): bool": (_: unknown, a: List, b: List) =>
      containsAll(a, b),
    "setsNamespace.equivalent(list<A>, list<A>): bool": (_: unknown, a: List, b: List) =>
      containsAll(a, b) && containsAll(b, a),
    "setsNamespace.intersects(list<A>, list<A>): bool": (_: unknown, a: List, b: List) => {
      charge(a.length * b.length);
      return a.some((item) => b.some((other) => equalValues(item, other)));
    },
  };
}

/** Numbers, texts, flags, times and durations. */
export function order(a: unknown, b: unknown): number {
  const x = a as number;
  const y = b as number;
  if (x < y) return -1;
  return x > y ? 1 : 0;
}

function extreme(list: List, wanted: -1 | 1): unknown {
  if (list.length === 0) throw new Error(`${wanted < 0 ? "min" : "max"} called on empty list`);
  return list.reduce((best, item) => (order(item, best) === wanted ? item : best));
}

function slice(list: List, from: bigint, to: bigint): List {
  if (from < 0n || from > to || to > list.length) {
    throw new Error(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  }
  return list.slice(Number(from), Number(to));
}

function formatFunctions({ optional }: CelSurroundings): CelFunctions {
  const named = Object.entries(namedFormats).map(([name, rule]) => [
    `formatNamespace.${name}(): kubernetes.NamedFormat`,
    () => new NamedFormat(rule),
  ]);
  return {
    ...Object.fromEntries(named),
    "formatNamespace.named(string): optional<kubernetes.NamedFormat>": (
      _: unknown,
      name: string,
    ) => {
      const rule = Object.hasOwn(namedFormats, name) ? namedFormats[name] : undefined;
      return optional(rule && new NamedFormat(rule));
    },
    "kubernetes.NamedFormat.validate(string): optional<list<string>>": (
      { rule }: NamedFormat,
      text: string,
    ) => {
      const problems = rule(text);
      return optional(problems.length === 0 ? undefined : problems);
    },
  };
}

/** The start of a generated name may end in a dash. */
function prefixOf(rule: NameRule): NameRule {
  return (text) => rule(text.endsWith("-") ? `${text.slice(0, -1)}a` : text);
}

function openApi(format: string, problem: string): NameRule {
  const schema = readSchema({ type: "string", format });
  return (text) => (isOfFormat(schema, text) ? [] : [problem]);
}

/** Numbers are equal across types; other values only within their type. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b) && typeof a !== typeof b) return Number(a) === Number(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => equalValues(item, b[index]));
  }
  const x = mapOf(a);
  const y = mapOf(b);
  if (x !== undefined && y !== undefined) {
    if (x.size !== y.size) return false;
    return [...x].every(([key, value]) => y.has(key) && equalValues(value, y.get(key)));
  }
  if (a.constructor !== b.constructor) return false;
  if (hasEquals(a)) return a.equals(b);
  // Times, durations and unsigned integers have a primitive value; bytes have not.
  const primitive: unknown = a.valueOf();
  return typeof primitive === "object" ? isDeepStrictEqual(a, b) : primitive === b.valueOf();
}

/** A map literal of the library is a plain object. */
function mapOf(value: object): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  return value.constructor === Object ? new Map(Object.entries(value)) : undefined;
}

function isNumber(value: unknown): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

function hasEquals(value: object): value is { equals(other: unknown): boolean } {
  return "equals" in value && !(value instanceof Uint8Array);
}

function isZero(value: unknown): boolean {
  if (value === null || value === false || value === "" || value === 0 || value === 0n) return true;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  return value instanceof Map && value.size === 0;
}
