// Matches parts of an object with their old values. An unchanged part is not refused if the schema has
// become stricter (KEP-4008, validation ratcheting). Items of lists are matched by their keys, and only
// in lists of type `map`.
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { fieldSchema, type JsonSchema } from "./json-schema.ts";

export class Correlation {
  readonly #value: unknown;
  readonly #old: unknown;
  readonly #schema: JsonSchema;
  #same: boolean | undefined;

  constructor(value: unknown, old: unknown, schema: JsonSchema) {
    this.#value = value;
    this.#old = old;
    this.#schema = schema;
  }

  /** Undefined when the field was not there before, or is not in the schema. */
  field(name: string): Correlation | undefined {
    const value = this.#value;
    const old = this.#old;
    if (!isJsonObject(value) || !isJsonObject(old)) return undefined;
    if (!Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined;
    const schema = fieldSchema(this.#schema, name);
    return schema && new Correlation(value[name], old[name], schema);
  }

  /** Undefined when the item has no counterpart. */
  item(index: number): Correlation | undefined {
    if (!Array.isArray(this.#value)) return undefined;
    const value: unknown = this.#value[index];
    const old = counterpart(this.#schema, this.#old, value);
    const { items } = this.#schema;
    return old === undefined || items === undefined
      ? undefined
      : new Correlation(value, old, items);
  }

  get isSame(): boolean {
    this.#same ??= this.#compare();
    return this.#same;
  }

  #compare(): boolean {
    const value = this.#value;
    const old = this.#old;
    if (Array.isArray(value) && Array.isArray(old)) {
      if (this.#schema.listType !== "map") return isDeepStrictEqual(value, old);
      return (
        value.length === old.length && value.every((_, index) => this.item(index)?.isSame === true)
      );
    }
    if (isJsonObject(value) && isJsonObject(old)) {
      const fields = Object.keys(value);
      return (
        fields.length === Object.keys(old).length &&
        fields.every((field) => this.field(field)?.isSame === true)
      );
    }
    return isDeepStrictEqual(value, old);
  }
}

/** The item of the old list that has the same keys. */
export function counterpart(schema: JsonSchema, old: unknown, item: unknown): unknown {
  if (schema.listType !== "map" || !Array.isArray(old) || !isJsonObject(item)) return undefined;
  return old.find((candidate) => isJsonObject(candidate) && sameKeys(schema, candidate, item));
}

function sameKeys({ listMapKeys }: JsonSchema, a: JsonObject, b: JsonObject): boolean {
  return listMapKeys.every((key) => isDeepStrictEqual(a[key], b[key]));
}
