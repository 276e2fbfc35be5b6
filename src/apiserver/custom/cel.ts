// The rules of CustomResourceDefinitions in CEL: types from schemas, values from JSON, and compiled
// expressions that run within a bound of work. Only this file imports the CEL library, see
// docs/decisions/cel.md.
import { Environment, Optional } from "@marcbachmann/cel-js";
import { Duration } from "@marcbachmann/cel-js/evaluator";
import { parseGoNanos } from "../../environment/go-duration.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { amountFunctions, Quantity, Semver } from "./cel-amounts.ts";
import { celFunctions, equalValues, NamedFormat } from "./cel-functions.ts";
import { type CelNode, celMacros } from "./cel-macros.ts";
import { limitReached, meter, Preparation } from "./cel-metering.ts";
import { Cidr, Ip, networkFunctions, Url } from "./cel-network.ts";
import { runes } from "./go-texts.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";

/** cel-go refuses longer expressions, in code points. */
const expressionMaxLength = 100_000;

export interface Outcome {
  readonly value?: unknown;
  /** Why there is no value. */
  readonly error?: string;
  readonly isOverLimit: boolean;
  readonly work: number;
}

export interface Expression {
  readonly usesOldSelf: boolean;
  readonly run: (variables: Readonly<Record<string, unknown>>, workLimit: number) => Outcome;
}

export type Compilation =
  | { readonly expression: Expression; readonly type: string }
  | { readonly problem: string };

/** The type of `self` in the rules of one schema, and its values. */
export class RuleScope {
  readonly #types: Environment;
  readonly #shape: Shape;
  /** By the type of `oldSelf`, which is optional in some rules. */
  readonly #environments = new Map<string, Environment>();

  constructor(types: Environment, shape: Shape) {
    this.#types = types;
    this.#shape = shape;
  }

  /** Throws a `ValueError` for JSON that does not fit the schema: objects may be older than it. */
  valueOf(json: unknown): unknown {
    return this.#shape.convert(json);
  }

  /** Undefined when there is no old value and `oldSelf` is not optional. */
  oldValueOf(json: unknown, { isOptional }: { readonly isOptional: boolean }): unknown {
    const value = json === undefined ? undefined : this.valueOf(json);
    return isOptional ? Optional.of(value) : value;
  }

  compile(source: string, options: { readonly hasOptionalOldSelf: boolean }): Compilation {
    const { type } = this.#shape;
    const oldSelf = options.hasOptionalOldSelf ? `optional<${type}>` : type;
    const environment =
      this.#environments.get(oldSelf) ??
      this.#types.clone().registerVariable("self", type).registerVariable("oldSelf", oldSelf);
    this.#environments.set(oldSelf, environment);
    return compile(source, environment);
  }
}

export class ValueError extends Error {
  override readonly name = "ValueError";
  readonly code = "CEL_VALUE";
}

function compile(source: string, environment: Environment): Compilation {
  const length = runes(source).length;
  if (length > expressionMaxLength) {
    const detail = `size: ${length}, limit ${expressionMaxLength}`;
    return { problem: `ERROR: <input>:-1:0: expression code point size exceeds limit: ${detail}` };
  }
  try {
    const parsed = environment.parse(source);
    const preparation = new Preparation(source);
    preparation.prepare(parsed.ast as unknown as CelNode, "selected", 0);
    const checked = parsed.check();
    if (!checked.valid) return { problem: problemOf(source, checked.error) };
    const { usesOldSelf } = preparation;
    const run: Expression["run"] = (variables, workLimit) =>
      runMetered(parsed, variables, workLimit);
    return { expression: { usesOldSelf, run }, type: checked.type ?? "dyn" };
  } catch (error) {
    return { problem: problemOf(source, error) };
  }
}

function runMetered(
  evaluate: (variables: Record<string, unknown>) => unknown,
  variables: Readonly<Record<string, unknown>>,
  workLimit: number,
): Outcome {
  meter.left = workLimit;
  const outcome = outcomeOf(() => evaluate(variables));
  const work = workLimit - meter.left;
  // An operator may have absorbed the error, as it does with any other.
  if (meter.left < 0) return { error: limitReached.message, isOverLimit: true, work };
  return { ...outcome, isOverLimit: false, work };
}

function outcomeOf(evaluate: () => unknown): Pick<Outcome, "value" | "error"> {
  try {
    return { value: evaluate() };
  } catch (error) {
    return { error: runtimeProblem(error) };
  }
}

/** The library's words, and cel-go's for the errors that rules run into most. */
function runtimeProblem(error: unknown): string {
  const { summary, code, message } = describe(error);
  if (code === "index_out_of_bounds") {
    return `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1]}`;
  }
  if (code === "no_such_key") return summary.replace("No such key", "no such key");
  if (code === "no_such_overload" || code === "no_matching_overload") return "no such overload";
  if (code === "modulo_by_zero") return "modulus by zero";
  if (code === "numeric_overflow") return "integer overflow";
  return summary === "" ? message : summary;
}

function problemOf(source: string, error: unknown): string {
  const { summary, message, start } = describe(error);
  const before = source.slice(0, start).split("\n");
  const column = runes(before.at(-1) ?? "").length + 1;
  return `ERROR: <input>:${before.length}:${column}: ${summary === "" ? message : summary}`;
}

interface Described {
  readonly summary: string;
  readonly message: string;
  readonly code: string;
  readonly start: number;
}

/** The errors of the library have a code, a line without an excerpt, and a place. */
function describe(error: unknown): Described {
  if (!(error instanceof Error)) throw error;
  const { summary, code, range }: Partial<Record<string, unknown>> = {
    summary: Reflect.get(error, "summary"),
    code: Reflect.get(error, "code"),
    range: Reflect.get(error, "range"),
  };
  return {
    summary: typeof summary === "string" ? summary : "",
    message: error.message,
    code: typeof code === "string" ? code : "",
    start: isJsonObject(range) && typeof range["start"] === "number" ? range["start"] : 0,
  };
}

/** How values of one schema are called in CEL, and how they are made from JSON. */
interface Shape {
  readonly type: string;
  readonly convert: (json: unknown) => unknown;
}

/** Different object types in one definition; the library compares each new one with all others. */
const maxObjectTypes = 2_000;

/** The types of a schema and of all below it. One environment has them all, because it is large. */
export class RuleTypes {
  readonly #environment = kubernetesEnvironment().clone();
  /** Undefined for schemas without a type. */
  readonly #shapes = new Map<JsonSchema, Shape | undefined>();
  /** By their fields; schemas with the same fields share a type. */
  readonly #objectTypes = new Map<string, ObjectType>();

  constructor(schema: JsonSchema, { isResource }: { readonly isResource: boolean }) {
    this.#declare(schema, isResource);
  }

  /** Undefined when the schema has no type, so rules cannot refer to its values. */
  scopeOf(schema: JsonSchema): RuleScope | undefined {
    const shape = this.#isTooLarge ? undefined : this.#shapes.get(schema);
    return shape && new RuleScope(this.#environment, shape);
  }

  get #isTooLarge(): boolean {
    return this.#objectTypes.size > maxObjectTypes;
  }

  #declare(schema: JsonSchema, isResource: boolean): void {
    this.#shapeOf(schema, isResource);
    const { items, additionalProperties, properties } = schema;
    for (const below of [items, additionalProperties, ...properties.values()]) {
      if (typeof below === "object") this.#declare(below, below.isEmbeddedResource);
    }
  }

  #shapeOf(schema: JsonSchema, isResource = schema.isEmbeddedResource): Shape | undefined {
    if (this.#shapes.has(schema)) return this.#shapes.get(schema);
    const shape = this.#isTooLarge ? undefined : this.#makeShape(schema, isResource);
    this.#shapes.set(schema, shape);
    return shape;
  }

  #makeShape(schema: JsonSchema, isResource: boolean): Shape | undefined {
    if (schema.isIntOrString) return { type: "dyn", convert: wholeNumber };
    switch (schema.type) {
      case "array":
        return this.#arrayShape(schema);
      case "object":
        return this.#objectShape(isResource ? withTypeAndMeta(schema) : schema);
      case "string":
        return textShape(schema);
      case "boolean":
        return { type: "bool", convert: (json) => json };
      case "number":
        return { type: "double", convert: (json) => json };
      case "integer":
        return { type: "int", convert: wholeNumber };
      default:
        return undefined;
    }
  }

  #arrayShape({ items }: JsonSchema): Shape | undefined {
    const item = items && this.#shapeOf(items);
    return (
      item && {
        type: `list<${item.type}>`,
        convert: (json) => {
          if (!Array.isArray(json)) throw mismatch("array", json);
          return json.map((own) => nullOr(own, item));
        },
      }
    );
  }

  #objectShape(schema: JsonSchema): Shape | undefined {
    const { additionalProperties, properties } = schema;
    if (typeof additionalProperties === "object") return this.#mapShape(additionalProperties);
    const fields = new Map<string, { readonly name: string; readonly shape: Shape }>();
    for (const [name, own] of properties) {
      const shape = this.#shapeOf(own);
      const escaped = escapedName(name);
      if (shape !== undefined && escaped !== undefined) fields.set(name, { name: escaped, shape });
    }
    return this.#namedShape(fields);
  }

  #mapShape(values: JsonSchema): Shape | undefined {
    const value = this.#shapeOf(values);
    return (
      value && {
        type: `map<string, ${value.type}>`,
        convert: (json) => {
          if (!isJsonObject(json)) throw mismatch("object", json);
          return new Map(Object.entries(json).map(([key, own]) => [key, nullOr(own, value)]));
        },
      }
    );
  }

  #namedShape(
    fields: ReadonlyMap<string, { readonly name: string; readonly shape: Shape }>,
  ): Shape {
    const types = [...fields.values()].map(({ name, shape }) => [name, shape.type] as const);
    const { type, ObjectValue } = this.#objectType(types);
    return {
      type,
      convert: (json) => {
        if (!isJsonObject(json)) throw mismatch("object", json);
        const value = new ObjectValue();
        for (const [name, own] of Object.entries(json)) {
          const field = fields.get(name);
          // A field that is null is absent to rules.
          if (field !== undefined && own !== null) value.set(field.name, field.shape.convert(own));
        }
        return value;
      },
    };
  }

  /** The library keeps the names of types for good, so each definition uses the same names. */
  #objectType(fields: readonly (readonly [string, string])[]): ObjectType {
    const key = JSON.stringify(fields);
    const known = this.#objectTypes.get(key);
    if (known !== undefined) return known;
    const type = `object${this.#objectTypes.size}`;
    const made = { type, ObjectValue: class extends Map<string, unknown> {} };
    this.#objectTypes.set(key, made);
    this.#environment
      .registerType(type, { ctor: made.ObjectValue, fields: Object.fromEntries(fields) })
      .registerOperator(`${type} == ${type}`, equalValues);
    return made;
  }
}

interface ObjectType {
  readonly type: string;
  readonly ObjectValue: new () => Map<string, unknown>;
}

/** An item that is null stays null: a rule that reads it fails. */
function nullOr(json: unknown, { convert }: Shape): unknown {
  return json === null ? null : convert(json);
}

function wholeNumber(json: unknown): unknown {
  return Number.isInteger(json) ? BigInt(json as number) : json;
}

function textShape({ format }: JsonSchema): Shape {
  switch (format) {
    case "byte":
      return { type: "bytes", convert: (json) => Buffer.from(String(json), "base64") };
    case "duration":
      return { type: "google.protobuf.Duration", convert: toDuration };
    case "date":
      return {
        type: "google.protobuf.Timestamp",
        convert: (json) => toTimestamp(`${String(json)}T00:00:00Z`),
      };
    case "date-time":
      return { type: "google.protobuf.Timestamp", convert: (json) => toTimestamp(String(json)) };
    default:
      return { type: "string", convert: (json) => json };
  }
}

const msPerDay = 86_400_000;
const nanosPerSecond = 1_000_000_000n;

function toDuration(json: unknown): Duration {
  const nanos = parseGoNanos(String(json));
  if (nanos === undefined) throw new ValueError(`invalid duration ${String(json)}`);
  return new Duration(nanos / nanosPerSecond, Number(nanos % nanosPerSecond));
}

/** RFC 3339, to milliseconds. */
function toTimestamp(text: string): Date {
  const time = new Date(text.toUpperCase());
  if (Number.isNaN(time.getTime())) throw new ValueError(`invalid timestamp ${text}`);
  return time;
}

function mismatch(type: string, json: unknown): ValueError {
  const actual = Array.isArray(json) ? "array" : typeof json;
  return new ValueError(`invalid data, expected ${type} to match the schema but got ${actual}`);
}

/** Rules see the kind, version and names of a resource even if its schema leaves them out. */
function withTypeAndMeta(schema: JsonSchema): JsonSchema {
  return { ...schema, properties: new Map([...schema.properties, ...resourceFields]) };
}

const names = { name: { type: "string" }, generateName: { type: "string" } };
const resourceFields: readonly (readonly [string, JsonSchema])[] = [
  ["apiVersion", readSchema({ type: "string" })],
  ["kind", readSchema({ type: "string" })],
  ["metadata", readSchema({ type: "object", properties: names })],
];

/** Words of the language; a field of this name is written `__namespace__`. */
const reserved: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while"
  ).split(" "),
);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The name of a field in expressions; undefined when it cannot be written in one. */
export function escapedName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (part) => escapes[part] ?? part);
}

let known: Environment | undefined;

/** The language as Kubernetes has it. Made when first needed: most servers see no rule. */
function kubernetesEnvironment(): Environment {
  known ??= makeEnvironment();
  return known;
}

const timeFunctions = {
  "string(google.protobuf.Duration): string": String,
  "string(google.protobuf.Timestamp): string": showTime,
  "google.protobuf.Timestamp.getDayOfYear_(): int": (time: Date) =>
    BigInt(Math.floor((time.getTime() - Date.UTC(time.getUTCFullYear(), 0)) / msPerDay)),
  "int(google.protobuf.Timestamp): int": (time: Date) => BigInt(Math.floor(time.getTime() / 1000)),
  "int(google.protobuf.Duration): int": ({ seconds, nanos }: Duration) =>
    seconds * nanosPerSecond + BigInt(nanos),
};

function makeEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true });
  const types = {
    "net.IP": Ip,
    "net.CIDR": Cidr,
    "kubernetes.URL": Url,
    "kubernetes.Quantity": Quantity,
    "kubernetes.Semver": Semver,
    "kubernetes.NamedFormat": NamedFormat,
  };
  for (const [name, ctor] of Object.entries(types)) {
    environment.registerType(name, ctor).registerOperator(`${name} == ${name}`, equalValues);
  }
  for (const name of ["format", "ip", "lists", "sets", "strings"]) {
    const Namespace = class {};
    environment.registerType(`${name}Namespace`, Namespace);
    environment.registerConstant(name, `${name}Namespace`, new Namespace());
  }
  const around = { charge: (units: number) => meter.charge(units), optional: toOptional, show };
  const functions = {
    ...celFunctions(around),
    ...networkFunctions,
    ...amountFunctions,
    ...timeFunctions,
  };
  for (const [signature, handler] of Object.entries({ ...functions, ...celMacros })) {
    environment.registerFunction(signature, handler, { async: false });
  }
  return environment;
}

function toOptional(value: unknown): unknown {
  return Optional.of(value);
}

/** As `%s` shows it; undefined for values of Kubernetes' own types. */
function show(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Date) return showTime(value);
  if (value === null || typeof value !== "object" || value instanceof Duration)
    return String(value);
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  if (value instanceof Map && value.constructor === Map) {
    const entries = [...value].map(([key, own]) => `${show(key)}: ${show(own)}`);
    return `{${entries.sort().join(", ")}}`;
  }
  return undefined;
}

function showTime(time: Date): string {
  return time.toISOString().replace(/\.?0*Z$/, "Z");
}
