// Reading fields of raw JSON. `null` counts as absent, as in Go's decoder; a field of the wrong type
// makes the object malformed, because guessing what it meant could route traffic to the wrong place.
import type { WallMs } from "../../environment/clock.ts";
import { internStructure, noStrings, type StringMap } from "./intern.ts";

export type RawRecord = Readonly<Record<string, unknown>>;

/** One object could not be understood. The others are not affected by it. */
export class MalformedObjectError extends Error {
  override readonly name = "MalformedObjectError";
  readonly code = "MALFORMED_OBJECT";
}

const noFields: RawRecord = Object.freeze({});
const noItems: readonly unknown[] = Object.freeze([]);

export function isRecord(value: unknown): value is RawRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function requiredRecord(value: unknown, what: string): RawRecord {
  if (isRecord(value)) {
    return value;
  }
  throw malformed(what, "an object", value);
}

/** An absent object reads as one without fields. */
export function recordAt(record: RawRecord, field: string): RawRecord {
  const value = record[field];
  return value === undefined || value === null ? noFields : requiredRecord(value, field);
}

export function optionalRecordAt(record: RawRecord, field: string): RawRecord | undefined {
  const value = record[field];
  return value === undefined || value === null ? undefined : requiredRecord(value, field);
}

export function requiredString(record: RawRecord, field: string): string {
  const value = record[field];
  if (typeof value === "string" && value !== "") {
    return value;
  }
  throw malformed(field, "a string", value);
}

export function optionalString(record: RawRecord, field: string): string | undefined {
  const value = record[field];
  if (typeof value === "string") {
    return value;
  }
  if (value === undefined || value === null) {
    return undefined;
  }
  throw malformed(field, "a string", value);
}

export function optionalNumber(record: RawRecord, field: string): number | undefined {
  const value = record[field];
  if (typeof value === "number") {
    return value;
  }
  if (value === undefined || value === null) {
    return undefined;
  }
  throw malformed(field, "a number", value);
}

/** Integers of the API have at most 64 bits; values beyond 53 bits are not used in practice. */
export function optionalInteger(record: RawRecord, field: string): number | undefined {
  const value = optionalNumber(record, field);
  if (value === undefined || Number.isSafeInteger(value)) {
    return value;
  }
  throw malformed(field, "a whole number", value);
}

export function optionalBoolean(record: RawRecord, field: string): boolean | undefined {
  const value = record[field];
  if (typeof value === "boolean") {
    return value;
  }
  if (value === undefined || value === null) {
    return undefined;
  }
  throw malformed(field, "true or false", value);
}

/** An absent list reads as an empty one. */
export function listAt(record: RawRecord, field: string): readonly unknown[] {
  const value = record[field];
  if (Array.isArray(value)) {
    return value;
  }
  if (value === undefined || value === null) {
    return noItems;
  }
  throw malformed(field, "a list", value);
}

export function stringsAt(record: RawRecord, field: string): readonly string[] {
  return listAt(record, field).map((item) => {
    if (typeof item === "string") {
      return item;
    }
    throw malformed(`an item of ${field}`, "a string", item);
  });
}

/** Labels, annotations, selectors: shared between objects that have equal ones. */
export function stringMapAt(record: RawRecord, field: string, similar?: StringMap): StringMap {
  const value = optionalRecordAt(record, field);
  if (value === undefined) {
    return noStrings;
  }
  if (isStringMap(value)) {
    return internStructure(value, similar);
  }
  throw new MalformedObjectError(`${field} should hold only strings`);
}

/** RFC 3339, as Kubernetes writes `Time` and `MicroTime`; finer than milliseconds is cut off. */
export function optionalTime(record: RawRecord, field: string): WallMs | undefined {
  const text = optionalString(record, field);
  if (text === undefined || text === "") {
    return undefined;
  }
  // A year has four digits; others, which JavaScript reads, have no room for a difference.
  const ms = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw malformed(field, "a time", text);
  }
  // The server's wall clock, which is what WallMs means for an instant that came from outside.
  return ms as WallMs;
}

function isStringMap(record: RawRecord): record is StringMap {
  for (const key in record) {
    if (typeof record[key] !== "string") {
      return false;
    }
  }
  return true;
}

function malformed(what: string, expected: string, value: unknown): MalformedObjectError {
  return new MalformedObjectError(`${what} should be ${expected}, not ${describe(value)}`);
}

/** Names the type and never prints the value: it may be long, or secret. */
function describe(value: unknown): string {
  if (value === undefined || value === null || value === "") {
    return "empty";
  }
  return Array.isArray(value) ? "a list" : typeof value;
}
