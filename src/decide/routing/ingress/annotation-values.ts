// Parsers for the text of annotations. Each returns the value, or a short text with the problem;
// none throws. A returned value is safe to pass on as data: bounded, without control characters,
// and of the one form it claims to have.
import { parseNetwork } from "../../../environment/ip-address.ts";
import { hostOf } from "../host-name.ts";
import { regexProblem } from "../regex.ts";
import { shown } from "../shown-text.ts";

export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

export type Parse<Value> = (text: string) => Parsed<Value>;

/** Longer texts are no hand-written names, paths or addresses. */
const maxTextLength = 1_024;

/** Of one list; a longer one belongs in front of the ingress. */
const maxListLength = 1_000;

/** As Go reads them, which the annotations were first written for. */
export const boolean: Parse<boolean> = (text) => {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return { value: true };
  if (["0", "f", "F", "false", "FALSE", "False"].includes(text)) return { value: false };
  return { problem: `${shown(text)} is neither "true" nor "false"` };
};

/** Whether the text is a boolean, and this one. */
export function isWord(text: string, wanted: boolean): boolean {
  const parsed = boolean(text);
  return "value" in parsed && parsed.value === wanted;
}

export function wholeNumber(least: number, most: number): Parse<number> {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return { value };
    return { problem: `${shown(text)} is not a whole number from ${least} to ${most}` };
  };
}

const durationUnitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  "": 1_000,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Seconds, or a number with its unit; in milliseconds. */
export function duration(leastMs: number, mostMs: number): Parse<number> {
  return (text) => {
    const [, digits, unit = ""] = /^(\d{1,9})(ms|s|m|h)?$/.exec(text) ?? [];
    const value = Number(digits) * (durationUnitsMs[unit] ?? Number.NaN);
    if (value >= leastMs && value <= mostMs) return { value };
    const bounds = `from ${leastMs / 1_000} s to ${mostMs / 1_000} s`;
    return { problem: `${shown(text)} is not a time ${bounds}, such as "60" or "60s"` };
  };
}

const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
};

export function size(mostBytes: number): Parse<number> {
  return (text) => {
    const [, digits, unit = ""] = /^(\d{1,15})([bkmg])?$/.exec(text.toLowerCase()) ?? [];
    const value = Number(digits) * (sizeUnits[unit] ?? Number.NaN);
    if (value <= mostBytes) return { value };
    return { problem: `${shown(text)} is not a size of at most ${mostBytes} bytes, such as "8m"` };
  };
}

/** One of these words, whatever their case; each stands for its value. */
export function oneOf<Value>(words: Readonly<Record<string, Value>>): Parse<Value> {
  return (text) => {
    const word = text.trim().toLowerCase();
    const value = Object.hasOwn(words, word) ? words[word] : undefined;
    if (value !== undefined) return { value };
    return { problem: `${shown(text)} is not one of ${Object.keys(words).join(", ")}` };
  };
}

/** A token of HTTP: the name of a header, a cookie or a method. */
export const token: Parse<string> = (text) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(text)
    ? { value: text }
    : { problem: `${shown(text)} is not a name that a header or a cookie can have` };

/** Printable ASCII. */
export const headerValue: Parse<string> = (text) =>
  /^[\x20-\x7e]{1,1024}$/.test(text)
    ? { value: text }
    : { problem: `${shown(text)} has characters that a header cannot hold` };

/** Printable ASCII that can stand between quotation marks. */
export const realm: Parse<string> = (text) =>
  /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(text)
    ? { value: text }
    : { problem: `${shown(text)} has characters that a realm cannot hold` };

/** Visible ASCII after one slash; two slashes would name a host. */
export const absolutePath: Parse<string> = (text) => {
  const isPath = /^\/(?![/\\])[\x21-\x7e]*$/.test(text) && text.length <= maxTextLength;
  return isPath ? { value: text } : { problem: `${shown(text)} is not a path such as "/app"` };
};

/** A path that can stand in a cookie: it has nothing that ends it there. */
export function isCookiePath(text: string): boolean {
  return /^\/[\x21-\x3a\x3c-\x7e]*$/.test(text) && text.length <= maxTextLength;
}

export const cookiePath: Parse<string> = (text) =>
  isCookiePath(text) ? { value: text } : { problem: `${shown(text)} is not a path such as "/app"` };

/** Visible ASCII after a slash. */
export const rewriteTarget: Parse<string> = (text) => {
  const isTarget = /^\/[\x21-\x7e]*$/.test(text) && text.length <= maxTextLength;
  return isTarget ? { value: text } : { problem: `${shown(text)} is not a path such as "/app/$1"` };
};

/** Of http or https, or a path of this host. */
export const location: Parse<string> = (text) => {
  const isLocation =
    /^(https?:\/\/[A-Za-z0-9$[]|\/(?![/\\]))[\x21-\x7e]*$/.test(text) &&
    text.length <= maxTextLength;
  if (isLocation) return { value: text };
  return { problem: `${shown(text)} is not an address such as "https://www.example.com/"` };
};

/** A name without a wildcard and without a port. */
export const hostName: Parse<string> = (text) =>
  text !== "" && hostOf(text) === text.toLowerCase() && !text.startsWith("*")
    ? { value: text }
    : { problem: `${shown(text)} is not a host name such as "shop.example"` };

/** A host name or address with or without a port, as it stands in a Host header. */
export const hostAndPort: Parse<string> = (text) => {
  const [, host = "", , port] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(:(\d{1,5}))?$/.exec(text) ?? [];
  const isName = host.startsWith("[")
    ? parseNetwork(host.slice(1, -1)) !== undefined
    : hostOf(host) === host.toLowerCase() && !host.startsWith("*");
  const isPort = port === undefined || (Number(port) > 0 && Number(port) <= 65_535);
  if (isName && isPort) return { value: text };
  return {
    problem: `${shown(text)} is not a host name such as "shop.example" or "shop.example:81"`,
  };
};

export const network: Parse<string> = (text) =>
  parseNetwork(text) === undefined
    ? { problem: `${shown(text)} is not an address or network such as "10.0.0.0/8"` }
    : { value: text };

export const regularExpression: Parse<string> = (text) => {
  const problem = regexProblem(text);
  return problem === undefined ? { value: text } : { problem };
};

/** Items between commas, blanks around them left out. One wrong item makes the whole list wrong. */
export function list<Value>(item: Parse<Value>, separator: string | RegExp = ","): Parse<Value[]> {
  return (text) => {
    const texts = itemsOf(text, separator);
    if (texts.length > maxListLength) return { problem: `it has more than ${maxListLength} items` };
    const values: Value[] = [];
    for (const one of texts) {
      const parsed = item(one);
      if ("problem" in parsed) return parsed;
      values.push(parsed.value);
    }
    return values.length > 0 ? { value: values } : { problem: "it is empty" };
  };
}

export function itemsOf(text: string, separator: string | RegExp = ","): readonly string[] {
  return text
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
