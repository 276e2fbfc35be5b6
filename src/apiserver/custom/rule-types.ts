// What a schema is to CEL: the type of `self` in the rules of that schema, and how its fields are
// called there. Only what the schema specifies can be seen; what it leaves open cannot.
import {
  boolType,
  dynType,
  intType,
  listOf,
  mapOf,
  simpleType,
  stringType,
  type Type,
} from "./cel/types.ts";
import { type JsonSchema, readSchema } from "./json-schema.ts";

/** Undefined when rules cannot refer to it: it has no type. */
export function ruleType(schema: JsonSchema, name: string, isResource: boolean): Type | undefined {
  if (schema.isIntOrString) return dynType;
  switch (schema.type) {
    case "array":
      return arrayType(schema, name);
    case "object":
      return objectType(isResource ? withTypeAndMeta(schema) : schema, name);
    case "string":
      return textType(schema);
    case "boolean":
      return boolType;
    case "number":
      return simpleType("double");
    case "integer":
      return intType;
    default:
      return undefined;
  }
}

/** The kind, version and names of a resource can be seen though its schema need not have them. */
export function withTypeAndMeta(schema: JsonSchema): JsonSchema {
  return { ...schema, properties: new Map([...schema.properties, ...resourceFields]) };
}

const names = { name: { type: "string" }, generateName: { type: "string" } };
const resourceFields: readonly (readonly [string, JsonSchema])[] = [
  ["apiVersion", readSchema({ type: "string" })],
  ["kind", readSchema({ type: "string" })],
  ["metadata", readSchema({ type: "object", properties: names })],
];

/** Words of the language, which as names of fields are written `__namespace__`. */
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

function arrayType({ items }: JsonSchema, name: string): Type | undefined {
  const type = items && ruleType(items, `${name}.@idx`, items.isEmbeddedResource);
  return type && listOf(type);
}

function objectType(schema: JsonSchema, name: string): Type | undefined {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === "object") {
    const { isEmbeddedResource } = additionalProperties;
    const value = ruleType(additionalProperties, `${name}.@elem`, isEmbeddedResource);
    return value && mapOf(stringType, value);
  }
  const fields = new Map<string, Type>();
  for (const [field, own] of schema.properties) {
    const escaped = escapedName(field);
    const type = ruleType(own, `${name}.${field}`, own.isEmbeddedResource);
    if (escaped !== undefined && type !== undefined) fields.set(escaped, type);
  }
  return { kind: "object", name, fields };
}

function textType({ format }: JsonSchema): Type {
  switch (format) {
    case "byte":
      return simpleType("bytes");
    case "duration":
      return simpleType("duration");
    case "date":
    case "date-time":
      return simpleType("timestamp");
    default:
      return stringType;
  }
}
