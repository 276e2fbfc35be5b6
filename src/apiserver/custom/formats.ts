// The formats of texts, as in k8s.io/kube-openapi's strfmt. An unknown format, or a format of a type
// other than string, is not checked, as in Kubernetes.

import { parseGoNanos } from "../../environment/go-duration.ts";
import { isIpv4, isIpv6 } from "../../environment/ip-address.ts";
import { dnsLabel, dnsSubdomain } from "../kinds/names.ts";
import { hasControlCharacter, matchesPattern, runes } from "./go-texts.ts";
import type { JsonSchema } from "./json-schema.ts";

/** True also when the schema has no format that is checked. */
export function isOfFormat(schema: JsonSchema, text: string): boolean {
  if (schema.format === "" || (schema.type !== "" && schema.type !== "string")) return true;
  return formats.get(normalized(schema.format))?.(text) ?? true;
}

/** Whether the format is known for its type; a definition with another gets a warning. */
export function isKnownFormat({ type, format }: JsonSchema): boolean {
  switch (type) {
    case "":
    case "string":
      return formats.has(normalized(format));
    case "integer":
      return format === "int32" || format === "int64";
    case "number":
      return format === "float" || format === "double";
    default:
      return false;
  }
}

function normalized(format: string): string {
  return format.replaceAll("-", "");
}

const hex = "[0-9a-fA-F]";

const patterns = {
  uuid: `^${hex}{8}-?${hex}{4}-?${hex}{4}-?${hex}{4}-?${hex}{12}$`,
  uuid3: `^${hex}{8}-?${hex}{4}-?3${hex}{3}-?${hex}{4}-?${hex}{12}$`,
  uuid4: `^${hex}{8}-?${hex}{4}-?4${hex}{3}-?[89abAB]${hex}{3}-?${hex}{12}$`,
  uuid5: `^${hex}{8}-?${hex}{4}-?5${hex}{3}-?[89abAB]${hex}{3}-?${hex}{12}$`,
  creditCard:
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|" +
    "3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\\d{3})\\d{11})$",
  hexColor: "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$",
  ssn: "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$",
  base64: "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
  hostname:
    "^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|" +
    "([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}" +
    "([a-zA-Z\\p{L}]){2,63})$",
  mac:
    `^(${hex}{2}(:${hex}{2}){5}|${hex}{2}(:${hex}{2}){7}|${hex}{2}(-${hex}{2}){5}|` +
    `${hex}{2}(-${hex}{2}){7}|${hex}{4}(\\.${hex}{4}){2}|${hex}{4}(\\.${hex}{4}){3})$`,
  bsonId: `^${hex}{24}$`,
  email: '^[^\\s@<>,;:"]+@[^\\s@<>,;:"]+$',
};

/** The longest host name, and the longest part of one, in bytes. */
const hostnameMaxBytes = 255;
const hostnamePartMaxBytes = 63;

const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["bsonobjectid", matching(patterns.bsonId)],
  ["uri", isRequestUri],
  ["email", matching(patterns.email)],
  ["hostname", isHostname],
  ["ipv4", isSloppyIpv4],
  ["ipv6", isIpv6],
  ["cidr", isCidr],
  ["mac", matching(patterns.mac)],
  ["uuid", matching(patterns.uuid)],
  ["uuid3", matching(patterns.uuid3)],
  ["uuid4", matching(patterns.uuid4)],
  ["uuid5", matching(patterns.uuid5)],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", (text) => text.length === 11 && matchesPattern(patterns.ssn, text)],
  ["hexcolor", matching(patterns.hexColor)],
  ["rgbcolor", isRgbColor],
  ["byte", matching(patterns.base64)],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => dnsLabel(text).length === 0],
  ["k8slongname", (text) => dnsSubdomain(text).length === 0],
]);

function matching(pattern: string): (text: string) => boolean {
  return (text) => matchesPattern(pattern, text);
}

/** An absolute path, or a text with a scheme, as for Go's ParseRequestURI. */
function isRequestUri(text: string): boolean {
  if (hasControlCharacter(text)) return false;
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return false;
  return text.startsWith("/") || /^[a-zA-Z][a-zA-Z0-9+.-]*:(\/|$)/.test(text);
}

function isHostname(text: string): boolean {
  if (!matchesPattern(patterns.hostname, text)) return false;
  const bytes = (part: string) => Buffer.byteLength(part, "utf8");
  if (bytes(text) > hostnameMaxBytes) return false;
  return text.split(".").every((part) => bytes(part) <= hostnamePartMaxBytes);
}

/** Leading zeros are allowed here, as they were before Go 1.17. */
function isSloppyIpv4(text: string): boolean {
  return isIpv4(text.replace(/\b0+(?=\d)/g, "")) || (isIpv6(text) && text.includes("."));
}

function isCidr(text: string): boolean {
  const [address = "", length, ...more] = text.split("/");
  if (length === undefined || more.length > 0 || !/^\d{1,3}$/.test(length)) return false;
  if (isIpv6(address)) return Number(length) <= 128;
  return isSloppyIpv4(address) && Number(length) <= 32;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^(\d{9}X|\d{10})$/.test(digits)) return false;
  const sum = runes(digits).reduce((total, digit, index) => {
    return total + (10 - index) * (digit === "X" ? 10 : Number(digit));
  }, 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = runes(digits).reduce((total, digit, index) => {
    return total + (index % 2 === 0 ? 1 : 3) * Number(digit);
  }, 0);
  return sum % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, "");
  if (!matchesPattern(patterns.creditCard, digits)) return false;
  const sum = runes(digits)
    .toReversed()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  if (parts === null) return false;
  return parts.slice(1).every((part) => /^(0|[1-9]\d*)$/.test(part) && Number(part) <= 255);
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t");
  if (time === undefined || !isDate(date)) return false;
  const parts = /^(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)$/.exec(time);
  if (parts === null) return false;
  const [, hour = "", minute = "", second = ""] = parts;
  return hour <= "23" && minute <= "59" && second <= "59";
}

/** Units as Scala writes them, beside Go's own: `2 days`, `5 minutes`. */
const wordyUnit =
  /^(nano.*|ns|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

function isDuration(text: string): boolean {
  if (parseGoNanos(text) !== undefined) return true;
  const parts = [...text.matchAll(/\d+\s*([A-Za-zµ]+)/g)];
  return parts.some(([, unit = ""]) => wordyUnit.test(unit));
}
