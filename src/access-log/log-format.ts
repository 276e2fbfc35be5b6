// A text log format, in nginx's own notation (`log_format`), made into a reader of its lines. Values
// are found by what stands between them; those with a known shape by their shape, because lists of
// upstreams have spaces in them. Reading one line takes a bounded number of steps, and each character
// is looked at a few times at most, whatever is in it.
import { timeIsoPattern, timeLocalPattern } from "./log-time.ts";

/** By nginx's names of variables, without the dollar sign. */
export type LogValues = ReadonlyMap<string, string>;

export class LogFormatError extends Error {
  override readonly name = "LogFormatError";
  readonly code = "LOG_FORMAT";
}

export interface LogFormatOptions {
  /** The name for people. */
  readonly name: string;
  /** The text, or the whole directive `log_format name escape=json '…' '…';`. */
  readonly format: string;
}

type Part = { readonly literal: string } | { readonly variable: string };

/** Unescaped quotes inside a value make several readings possible; after so many it is given up. */
const stepsMax = 500;

/** So often each character may be looked at while readings are tried. */
const looksMax = 20;

/** The cost of reading one line so far, and the limit in characters. */
interface Effort {
  steps: number;
  looks: number;
  readonly looksMax: number;
}

/**
 * An address of IPv6 is in brackets; a list may end in a colon if no endpoint was tried after it.
 */
const listPattern =
  /(?:(?:https?:\/\/)?\[[0-9a-fA-F:.]*\])?[^\s,"\]]*(?:(?:, | : |,)(?:\[[0-9a-fA-F:.]*\])?[^\s,"\]]+)*(?: : (?= |$))?/y;
/** Also between the entries of a list: only the list's own pattern shows where it ends. */
const partsList = /^[\s,:]/;
const numberPattern = /-|\d*(?:\.\d+)?/y;
const wordPattern = /[^\s"\]]*/y;

const shapes: ReadonlyMap<string, RegExp> = new Map([
  ["time_local", timeLocalPattern],
  ["time_iso8601", timeIsoPattern],
  ...["status", "msec", "request_time", "request_length", "body_bytes_sent", "bytes_sent"].map(
    (name): [string, RegExp] => [name, numberPattern],
  ),
  ...["remote_addr", "request_id", "req_id"].map((name): [string, RegExp] => [name, wordPattern]),
  ...["proxy_upstream_name", "proxy_alternative_upstream_name"].map((name): [string, RegExp] => [
    name,
    wordPattern,
  ]),
]);

export class LogFormat {
  readonly name: string;
  readonly #parts: readonly Part[];
  readonly #isJsonEscaped: boolean;

  constructor({ name, format }: LogFormatOptions) {
    const { text, isJsonEscaped } = directiveText(format);
    this.name = name;
    this.#parts = partsOf(text);
    this.#isJsonEscaped = isJsonEscaped;
    if (!this.variables.includes("status")) {
      throw new LogFormatError(
        `the log format ${name} has no $status, so no request can be judged`,
      );
    }
  }

  get variables(): readonly string[] {
    return this.#parts.flatMap((part) => ("variable" in part ? [part.variable] : []));
  }

  /** Undefined when the line is not of this format. */
  read(line: string): LogValues | undefined {
    const values = new Map<string, string>();
    const effort = { steps: 0, looks: 0, looksMax: looksMax * line.length };
    if (!this.#match(line, { part: 0, at: 0 }, values, effort)) return undefined;
    const plain = this.#isJsonEscaped ? unescapedJson : unescapedNginx;
    return new Map([...values].map(([name, value]) => [name, plain(value)]));
  }

  /** From the part on, at the place in the line; the values found are put into the map. */
  #match(
    line: string,
    { part, at }: { readonly part: number; readonly at: number },
    values: Map<string, string>,
    effort: Effort,
  ): boolean {
    effort.steps += 1;
    if (effort.steps > stepsMax || effort.looks > effort.looksMax) return false;
    const current = this.#parts[part];
    if (current === undefined) return at === line.length;
    if ("literal" in current) {
      if (!line.startsWith(current.literal, at)) return false;
      return this.#match(line, { part: part + 1, at: at + current.literal.length }, values, effort);
    }
    for (const end of this.#ends(line, { part, at }, effort)) {
      values.set(current.variable, line.slice(at, end));
      if (this.#match(line, { part: part + 1, at: end }, values, effort)) return true;
    }
    return false;
  }

  /** Where the value that begins here may end, the most likely place first. */
  *#ends(
    line: string,
    { part, at }: { readonly part: number; readonly at: number },
    effort: Effort,
  ): Generator<number> {
    const current = this.#parts[part];
    const next = this.#parts[part + 1];
    const shape = current !== undefined && "variable" in current && shapeOf(current.variable);
    if (shape) {
      shape.lastIndex = at;
      const found = shape.exec(line);
      if (found === null) return;
      const longest = at + found[0].length;
      effort.looks += found[0].length;
      yield longest;
      // A separator such as | may be in a word as well.
      if (next === undefined || !("literal" in next) || partsList.test(next.literal)) return;
      const shorter = line.indexOf(next.literal, at);
      if (shorter >= at && shorter < longest) yield shorter;
      return;
    }
    if (next === undefined || !("literal" in next)) {
      yield line.length;
      return;
    }
    for (let from = at; effort.looks <= effort.looksMax; ) {
      const end = line.indexOf(next.literal, from);
      effort.looks += (end < 0 ? line.length : end) - from;
      if (end < 0) return;
      yield end;
      from = end + 1;
    }
  }
}

function shapeOf(variable: string): RegExp | undefined {
  return shapes.get(variable) ?? (variable.startsWith("upstream_") ? listPattern : undefined);
}

/** A directive's text is in one or more quoted pieces after its name. */
function directiveText(format: string): { text: string; isJsonEscaped: boolean } {
  const directive = /^\s*log_format\s+\S+\s+(?:escape=(\w+)\s+)?(.*?);?\s*$/s.exec(format);
  if (directive === null) return { text: format.trim(), isJsonEscaped: false };
  const [, escaping, pieces = ""] = directive;
  const quoted = [...pieces.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(\S+)/gs)];
  const text = quoted.map(([, single, double, bare]) => {
    return (single ?? double)?.replaceAll(/\\(['"\\])/g, "$1") ?? bare ?? "";
  });
  return { text: text.join(""), isJsonEscaped: escaping === "json" };
}

function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)) {
    if (match.index > end) parts.push({ literal: text.slice(end, match.index) });
    parts.push({ variable: match[1] ?? match[2] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ literal: text.slice(end) });
  return parts;
}

/**
 * nginx writes a quote, a backslash and everything that is not plain ASCII as `\xXX`. Characters
 * that a terminal would obey stay written like that.
 */
function unescapedNginx(value: string): string {
  if (!value.includes("\\x")) return value;
  return value.replaceAll(/(?:\\x[0-9A-Fa-f]{2})+/g, (escaped) => {
    const text = Buffer.from(escaped.replaceAll("\\x", ""), "hex").toString("utf8");
    return /[\p{C}\p{Z}\uFFFD]/u.test(text) ? escaped : text;
  });
}

function unescapedJson(value: string): string {
  if (!value.includes("\\")) return value;
  try {
    return String(JSON.parse(`"${value}"`));
  } catch {
    // Not escaped as announced; the raw text is better than nothing.
    return value;
  }
}
