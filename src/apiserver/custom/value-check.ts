// Checks a value against a schema as the real server's OpenAPI validator does: every keyword speaks
// for itself, all failures are reported, and of the alternatives of anyOf and oneOf the failures of
// the one that fitted best.
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { Correlation } from "./correlation.ts";
import { isOfFormat } from "./formats.ts";
import type { JsonSchema } from "./json-schema.ts";
import { checkNumber } from "./number-check.ts";
import { matchesPattern } from "./patterns.ts";
import { runes } from "./runes.ts";
import { checkType } from "./type-check.ts";
import type { ValueFailure } from "./value-failure.ts";

/** `before` says what the value was; what is the same as before is not refused. */
export function checkValue(
  schema: JsonSchema,
  value: unknown,
  before?: Correlation,
): readonly ValueFailure[] {
  return check(schema, value, { path: "", before }).failures;
}

/** `fit` counts what was in order, to find the best of several alternatives. */
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
  const isForgiven = verdict.failures.length > 0 && at.before?.isSame === true;
  return isForgiven ? { failures: [], fit: verdict.fit } : verdict;
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

  /** One keyword was looked at. */
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

/** How many fit, and the first that does, or of those that do not the one that nearly did. */
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

/** The kind and version of the object itself are never forgiven for being as before. */
function isTypeField(path: string, field: string): boolean {
  return path === "" && (field === "kind" || field === "apiVersion");
}

function invalid(path: string, value: unknown, problem: string, subject = path): ValueFailure {
  return { type: "invalid", path, value, message: `${subject} in body ${problem}` };
}
