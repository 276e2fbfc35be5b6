// Validates a value against a schema as the OpenAPI validator of the real server does. Every keyword is
// checked, all failures are reported; of anyOf and oneOf the failures of the alternative that fits best.

import { isDeepStrictEqual } from "node:util";
import type { FieldErrors } from "../kinds/field-errors.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { Correlation } from "./correlation.ts";
import { childPath, noPath } from "./field-paths.ts";
import { isOfFormat } from "./formats.ts";
import { matchesPattern, runes } from "./go-texts.ts";
import type { JsonSchema } from "./json-schema.ts";

/** `before` is the old value; a part that equals it is not refused. */
export function checkValue(
  schema: JsonSchema,
  value: unknown,
  before?: Correlation,
): readonly ValueFailure[] {
  return check(schema, value, { path: "", before }).failures;
}

/** `fit` counts passed checks, to find the best of several alternatives. */
interface Verdict {
  readonly failures: readonly ValueFailure[];
  readonly fit: number;
}

interface Place {
  readonly path: string;
  readonly before: Correlation | undefined;
}

function check(schema: JsonSchema, value: unknown, at: Place): Verdict {
  const verdict = checkAll(schema, value, at);
  const isUnchanged = verdict.failures.length > 0 && at.before?.isSame === true;
  return isUnchanged ? { failures: [], fit: verdict.fit } : verdict;
}

function checkAll(schema: JsonSchema, value: unknown, at: Place): Verdict {
  const tally = new Tally();
  const typeFailure = checkType(schema, value, at.path);
  tally.step(typeFailure === undefined ? [] : [typeFailure], typeFailure === undefined ? 1 : 0);
  if (value === null) {
    tally.step(checkEnum(schema, value, at.path), 0);
    return tally.verdict;
  }
  tally.merge(checkChoices(schema, value, at));
  if (typeof value === "string") {
    tally.step(checkString(schema, value, at.path), 0);
    tally.step(checkFormat(schema, value, at.path), 0);
  } else if (typeof value === "number") {
    tally.step(checkNumber(schema, value, at.path), 1);
  } else if (Array.isArray(value)) {
    tally.merge(checkItems(schema, value, at));
  }
  tally.step(checkEnum(schema, value, at.path), 0);
  if (isJsonObject(value)) tally.merge(checkFields(schema, value, at));
  tally.step([], 0);
  return tally.verdict;
}

class Tally {
  readonly #failures: ValueFailure[] = [];
  #fit = 0;

  get verdict(): Verdict {
    return { failures: this.#failures, fit: this.#fit };
  }

  /** One keyword was checked. */
  step(failures: readonly ValueFailure[], fit: number): void {
    this.merge({ failures, fit: fit + 1 });
  }

  merge({ failures, fit }: Verdict): void {
    this.#fit += fit;
    for (const failure of failures) {
      if (!this.#failures.some((known) => isDeepStrictEqual(known, failure))) {
        this.#failures.push(failure);
      }
    }
  }
}

function checkChoices(schema: JsonSchema, value: unknown, at: Place): Verdict {
  const { anyOf, oneOf, allOf, not } = schema;
  const tally = new Tally();
  const name = JSON.stringify(at.path);
  const general = (message: string) =>
    tally.merge({ failures: [{ type: "general", message }], fit: 0 });
  if (anyOf.length > 0) {
    const { valid, best } = alternatives(anyOf, value, at);
    if (valid === 0) general(`${name} must validate at least one schema (anyOf)`);
    tally.merge(best);
  }
  if (oneOf.length > 0) {
    const { valid, best } = alternatives(oneOf, value, at);
    const found = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
    if (valid !== 1) general(`${name} must validate one and only one schema (oneOf). ${found}`);
    if (valid <= 1) tally.merge(best);
  }
  if (allOf.length > 0) {
    const verdicts = allOf.map((part) => checkAll(part, value, at));
    for (const verdict of verdicts) tally.merge(verdict);
    const valid = verdicts.filter(isValid).length;
    const none = valid === 0 ? ". None validated" : "";
    if (valid < allOf.length) general(`${name} must validate all the schemas (allOf)${none}`);
  }
  if (not !== undefined && isValid(checkAll(not, value, at))) {
    general(`${name} must not validate the schema (not)`);
  }
  tally.step([], 1);
  return tally.verdict;
}

/** The number of alternatives that fit, and the best one. */
function alternatives(
  schemas: readonly JsonSchema[],
  value: unknown,
  at: Place,
): { valid: number; best: Verdict } {
  const verdicts = schemas.map((schema) => checkAll(schema, value, at));
  const valid = verdicts.filter(isValid);
  const [first] = valid;
  if (first !== undefined) return { valid: valid.length, best: first };
  const best = verdicts.reduce((one, other) => (other.fit > one.fit ? other : one));
  return { valid: 0, best };
}

function isValid({ failures }: Verdict): boolean {
  return failures.length === 0;
}

/** Characters are counted as Go counts runes. The first failure is the only one reported. */
function checkString(schema: JsonSchema, text: string, path: string): readonly ValueFailure[] {
  const { maxLength, minLength, pattern } = schema;
  const length = maxLength === undefined && minLength === undefined ? 0 : runes(text).length;
  if (maxLength !== undefined && length > maxLength) {
    return [{ type: "tooLong", path, max: maxLength }];
  }
  if (minLength !== undefined && length < minLength) {
    return [invalid(path, text, `should be at least ${minLength} chars long`)];
  }
  if (pattern !== "" && !matchesPattern(pattern, text)) {
    return [invalid(path, text, `should match '${pattern}'`)];
  }
  return [];
}

function checkFormat(schema: JsonSchema, text: string, path: string): readonly ValueFailure[] {
  const { format } = schema;
  if (isOfFormat(schema, text)) return [];
  const message = `${path} in body must be of type ${format}: ${JSON.stringify(text)}`;
  return [{ type: "mistyped", path, value: text, message }];
}

function checkItems(schema: JsonSchema, list: readonly unknown[], at: Place): Verdict {
  const { items, minItems, maxItems } = schema;
  const { path } = at;
  const tally = new Tally();
  if (items !== undefined) {
    for (const [index, item] of list.entries()) {
      const place = { path: `${path}[${index}]`, before: at.before?.item(index) };
      tally.merge(check(items, item, place));
    }
  }
  const count = list.length;
  const failures: ValueFailure[] = [];
  if (minItems !== undefined && count < minItems) {
    failures.push(invalid(path, count, `should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && count > maxItems) {
    failures.push({ type: "tooMany", path, count, max: maxItems });
  }
  tally.step(failures, 1);
  return tally.verdict;
}

function checkEnum(schema: JsonSchema, value: unknown, path: string): readonly ValueFailure[] {
  const allowed = schema.enum;
  if (allowed.length === 0 || allowed.some((one) => isDeepStrictEqual(one, value))) return [];
  return [{ type: "enum", path, value, allowed }];
}

function checkFields(schema: JsonSchema, object: JsonObject, at: Place): Verdict {
  const { properties, additionalProperties, required } = schema;
  const { path } = at;
  const tally = new Tally();
  tally.step(checkFieldCount(schema, Object.keys(object).length, path), 0);
  for (const [field, value] of Object.entries(object)) {
    const before = isTypeField(path, field) ? undefined : at.before?.field(field);
    const own = properties.get(field);
    if (own !== undefined) {
      tally.merge(check(own, value, { path: path === "" ? field : `${path}.${field}`, before }));
    } else if (additionalProperties === false) {
      const failure = invalid(path, field, "is a forbidden property", `${path}.${field}`);
      tally.merge({ failures: [failure], fit: 0 });
    } else if (typeof additionalProperties === "object") {
      tally.merge(check(additionalProperties, value, { path: `${path}.${field}`, before }));
    }
  }
  const missing = required.filter((field) => !Object.hasOwn(object, field));
  const failures = missing.map(
    (field) => ({ type: "required", path: `${path}.${field}` }) as const,
  );
  tally.merge({ failures, fit: 0 });
  return tally.verdict;
}

function checkFieldCount(
  { minProperties, maxProperties }: JsonSchema,
  count: number,
  path: string,
): readonly ValueFailure[] {
  if (minProperties !== undefined && count < minProperties) {
    return [invalid(path, count, `should have at least ${minProperties} properties`)];
  }
  if (maxProperties !== undefined && count > maxProperties) {
    return [{ type: "tooMany", path, count, max: maxProperties }];
  }
  return [];
}

/** A wrong kind or version of the object is refused even if it is unchanged. */
function isTypeField(path: string, field: string): boolean {
  return path === "" && (field === "kind" || field === "apiVersion");
}

function invalid(path: string, value: unknown, problem: string, subject = path): ValueFailure {
  return { type: "invalid", path, value, message: `${subject} in body ${problem}` };
}

/** Undefined when it is. */
function checkType(schema: JsonSchema, value: unknown, path: string): ValueFailure | undefined {
  const types = typesOf(schema);
  const format = supportedNumberFormat(schema) ? schema.format : "";
  if (types.length === 0 && format === "") return undefined;
  if (value === null) {
    const isAllowed = types.length === 0 || schema.nullable;
    return isAllowed ? undefined : mistyped(path, types.join(","), "null");
  }
  const actual = jsonType(value);
  if (types.includes(actual) || (actual === "integer" && types.includes("number"))) {
    return undefined;
  }
  const isText = typeof value === "string" || Array.isArray(value);
  if (format !== "" && !isText) return mistyped(path, format, numberFormats.get(actual) ?? "");
  return mistyped(path, types.join(","), actual);
}

function jsonType(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (Array.isArray(value)) return "array";
  return isJsonObject(value) ? "object" : typeof value;
}

/** The Go types of numbers. */
const numberFormats: ReadonlyMap<string, string> = new Map([
  ["integer", "int64"],
  ["number", "float64"],
]);

function typesOf({ type, isIntOrString }: JsonSchema): readonly string[] {
  if (isIntOrString) return ["integer", "string"];
  return type === "" ? [] : [type];
}

function supportedNumberFormat({ type, format }: JsonSchema): boolean {
  if (type === "integer") return format === "int32" || format === "int64";
  return type === "number" && (format === "float" || format === "double");
}

function mistyped(path: string, expected: string, actual: string): ValueFailure {
  const message = `${path} in body must be of type ${expected}: ${JSON.stringify(actual)}`;
  return { type: "mistyped", path, value: actual, message };
}

const int32Max = 2 ** 31 - 1;
const int64Max = 2 ** 63;
const float32Max = 3.4028234663852886e38;

function checkNumber(schema: JsonSchema, value: number, path: string): readonly ValueFailure[] {
  return [
    ...checkRange(schema, value, path),
    ...checkMultiple(schema, value, path),
    ...checkBounds(schema, value, path),
  ];
}

/** Whether the type can hold the value; integers must be whole. */
function checkRange(
  { type, format }: JsonSchema,
  value: number,
  path: string,
): readonly ValueFailure[] {
  const isIn =
    type === "integer"
      ? isInteger(value, format)
      : format !== "float" || Math.abs(value) <= float32Max;
  if (isIn) return [];
  const named = format === "int32" || format === "int64" || format === "float";
  const expected = named ? `${type} with format ${format}` : `${type} (default format)`;
  return [{ type: "general", message: `Checked value must be of type ${expected} in ${path}` }];
}

function isInteger(value: number, format: string): boolean {
  if (!Number.isInteger(value)) return false;
  return format === "int32"
    ? value >= -int32Max - 1 && value <= int32Max
    : Math.abs(value) < int64Max;
}

function checkMultiple(
  { multipleOf }: JsonSchema,
  value: number,
  path: string,
): readonly ValueFailure[] {
  if (multipleOf === undefined) return [];
  const factor = Number.isInteger(value) ? Math.trunc(multipleOf) : multipleOf;
  if (factor <= 0) {
    const message = `factor MultipleOf declared for ${path} must be positive: ${factor}`;
    return [{ type: "invalid", path, value: factor, message }];
  }
  if (Number.isInteger(value / factor)) return [];
  return [invalid(path, value, `should be a multiple of ${factor}`)];
}

function checkBounds(schema: JsonSchema, value: number, path: string): readonly ValueFailure[] {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const failures: ValueFailure[] = [];
  const shown = (bound: number) => (Number.isInteger(value) ? Math.trunc(bound) : bound);
  if (minimum !== undefined) {
    const bound = shown(minimum);
    const rule = exclusiveMinimum ? "greater than" : "greater than or equal to";
    const isBelow = exclusiveMinimum ? value <= bound : value < bound;
    if (isBelow) failures.push(invalid(path, value, `should be ${rule} ${bound}`));
  }
  if (maximum !== undefined) {
    const bound = shown(maximum);
    const rule = exclusiveMaximum ? "less than" : "less than or equal to";
    const isAbove = exclusiveMaximum ? value >= bound : value > bound;
    if (isAbove) failures.push(invalid(path, value, `should be ${rule} ${bound}`));
  }
  return failures;
}

type ValueFailure =
  | { readonly type: "required"; readonly path: string }
  | {
      readonly type: "enum";
      readonly path: string;
      readonly value: unknown;
      readonly allowed: readonly unknown[];
    }
  | { readonly type: "tooLong"; readonly path: string; readonly max: number }
  | {
      readonly type: "tooMany";
      readonly path: string;
      readonly count: number;
      readonly max: number;
    }
  | {
      readonly type: "mistyped" | "invalid";
      readonly path: string;
      readonly value: unknown;
      readonly message: string;
    }
  /** Not about one field: a choice between schemas, or the range of a number. */
  | { readonly type: "general"; readonly message: string };

/** `base` is the path of the value in its object; "" for the object itself. */
export function reportFailures(
  failures: readonly ValueFailure[],
  base: string,
  errors: FieldErrors,
): void {
  for (const failure of failures) report(failure, base, errors);
}

function report(failure: ValueFailure, base: string, errors: FieldErrors): void {
  if (failure.type === "general") {
    errors.invalid(base === "" ? noPath : base, "", failure.message);
    return;
  }
  const relative = failure.path.replace(/^\./, "");
  const path = relative === "" ? base : childPath(base, relative);
  const shown = path === "" ? noPath : path;
  switch (failure.type) {
    case "required":
      errors.required(shown);
      break;
    case "enum":
      errors.notSupported(shown, failure.value, failure.allowed.map(enumText));
      break;
    case "tooLong":
      errors.tooLong(shown, failure.max);
      break;
    case "tooMany":
      errors.tooMany(shown, failure.count, failure.max);
      break;
    case "mistyped":
      errors.typeInvalid(shown, failure.value, failure.message);
      break;
    case "invalid":
      errors.invalid(shown, failure.value, failure.message);
      break;
  }
}

function enumText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
