// How large values of a schema can be, for estimates of what rules cost. What the schema does not
// bound is bounded by the size of a request.
import type { SizeTree } from "./cel/value-sizes.ts";
import type { JsonSchema } from "./json-schema.ts";
import { escapedName, withTypeAndMeta } from "./rule-types.ts";

/** apiserver/pkg/cel/limits.go. */
const requestMaxBytes = 3 * 1024 * 1024;
const durationMax = 32;
const dateTimeMax = 32;
const dateSize = 12;

/** The least JSON of each: `""`, `true`, `0`, `"0s"`, a point in time. */
const leastText = 2;
const leastFlag = 4;
const leastNumber = 1;
const leastDuration = 3;
const leastDateTime = 21;

/** A character may take four bytes. */
const bytesPerCharacter = 4;

interface Sized extends SizeTree {
  /** The least bytes of JSON it takes. */
  readonly least: number;
}

/** How many values of the schema a request can hold, where nothing else says how many there are. */
export function cardinalityInRequest(schema: JsonSchema, isResource: boolean): number {
  return Math.floor(requestMaxBytes / ((sized(schema, isResource)?.least ?? 0) + 1));
}

export function schemaSizes(schema: JsonSchema, isResource: boolean): SizeTree {
  return sized(schema, isResource) ?? leaf(0, 0);
}

function sized(schema: JsonSchema, isResource: boolean): Sized | undefined {
  if (schema.isIntOrString) return leaf(textMax(schema), 1);
  switch (schema.type) {
    case "array":
      return sizedArray(schema);
    case "object":
      return sizedObject(isResource ? withTypeAndMeta(schema) : schema);
    case "string":
      return sizedText(schema);
    case "boolean":
      return leaf(0, leastFlag);
    case "number":
    case "integer":
      return leaf(0, leastNumber);
    default:
      return undefined;
  }
}

function leaf(max: number, least: number): Sized {
  return { max, least, fields: new Map(), elements: undefined, keys: undefined };
}

function textMax({ maxLength }: JsonSchema): number {
  return maxLength === undefined ? requestMaxBytes - 2 : maxLength * bytesPerCharacter;
}

function sizedText(schema: JsonSchema): Sized {
  switch (schema.format) {
    case "byte":
      return leaf(schema.maxLength ?? requestMaxBytes - 2, leastText);
    case "duration":
      return leaf(durationMax, leastDuration);
    case "date":
      return leaf(dateSize, dateSize);
    case "date-time":
      return leaf(dateTimeMax, leastDateTime);
    default: {
      const texts = schema.enum.filter((value) => typeof value === "string");
      const isEnum = schema.maxLength === undefined && texts.length > 0;
      const longest = Math.max(0, ...texts.map((text) => Buffer.byteLength(text)));
      return leaf(isEnum ? longest : textMax(schema), leastText);
    }
  }
}

function sizedArray({ items, maxItems }: JsonSchema): Sized | undefined {
  const elements = items && sized(items, items.isEmbeddedResource);
  if (elements === undefined) return undefined;
  const max = maxItems ?? Math.floor((requestMaxBytes - 2) / (elements.least + 1));
  return { ...leaf(max, 2), elements };
}

function sizedObject(schema: JsonSchema): Sized | undefined {
  const { additionalProperties, properties, maxProperties, required } = schema;
  if (typeof additionalProperties === "object") {
    const elements = sized(additionalProperties, additionalProperties.isEmbeddedResource);
    if (elements === undefined) return undefined;
    const max = maxProperties ?? Math.floor((requestMaxBytes - 2) / (elements.least + 6));
    return { ...leaf(max, 2), elements, keys: leaf(0, leastText) };
  }
  const fields = new Map<string, SizeTree>();
  let least = 2;
  for (const [name, own] of properties) {
    const field = sized(own, own.isEmbeddedResource);
    if (field === undefined) continue;
    const escaped = escapedName(name);
    if (escaped !== undefined) fields.set(escaped, field);
    if (required.includes(name) && own.default === undefined) {
      least += Buffer.byteLength(name) + field.least + 4;
    }
  }
  return { ...leaf(0, least), fields };
}
