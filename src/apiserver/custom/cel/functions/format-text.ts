// `"%s is %d".format([…])` of CEL's strings extension, in the version Kubernetes has: numbers with
// grouped digits, and powers of ten written as powers.
import { runes } from "../../runes.ts";
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
  type Value,
} from "../values.ts";
import { clausePattern, clauseProblem } from "./format-clauses.ts";
import { formatTimestamp } from "./timestamps.ts";

/** What %f shows without a precision of its own, and %e always. */
const defaultPrecision = 6;

/** JavaScript's own limit; more digits than a double has. */
const maxPrecision = 100;

export function formatText(template: string, args: ListValue): string {
  let next = 0;
  return template.replace(clausePattern, (clause, precision: string | undefined, verb: string) => {
    if (clause === "%%") return "%";
    const value = args.items[next];
    if (value === undefined) throw new CelError(`index ${next} out of range`);
    next += 1;
    const problem = clauseProblem(verb, shortTypeName(value));
    if (problem !== undefined) throw new CelError(problem);
    return formatOne(verb, value, Number(precision ?? defaultPrecision));
  });
}

function shortTypeName(value: Value): string {
  if (value instanceof Duration) return "duration";
  return value instanceof Timestamp ? "timestamp" : typeNameOf(value);
}

function formatOne(verb: string, value: Value, precision: number): string {
  switch (verb) {
    case "f":
      return fixed(Number(value), precision);
    case "e":
      return scientific(Number(value));
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : integer(value).toString(2);
    case "o":
      return integer(value).toString(8);
    case "x":
      return hexadecimal(value);
    case "X":
      return hexadecimal(value).toUpperCase();
    case "d":
      return String(integer(value));
    default:
      return shown(value);
  }
}

function fixed(value: number, precision: number): string {
  const [whole = "", fraction] = value.toFixed(Math.min(precision, maxPrecision)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const raisedDigits = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(value: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(defaultPrecision).split("e");
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = runes(digits)
    .map((digit) => raisedDigits[Number(digit)])
    .join("");
  return `${mantissa}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}

function integer(value: Value): bigint {
  if (typeof value === "bigint") return value;
  return value instanceof Uint ? value.value : 0n;
}

function hexadecimal(value: Value): string {
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return integer(value).toString(16);
}

function shown(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Timestamp) return formatTimestamp(value.nanos);
  if (value instanceof Duration) return String(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof ListValue) return `[${value.items.map(shown).join(", ")}]`;
  if (value instanceof MapValue) {
    const entries = [...value.entries.values()].map(([key, own]) => `${shown(key)}: ${shown(own)}`);
    return `{${entries.sort().join(", ")}}`;
  }
  throw new CelError(clauseProblem("s", typeNameOf(value)) ?? "");
}
