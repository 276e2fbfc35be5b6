// A schema of a CustomResourceDefinition, read once into a form with every keyword typed. Unsupported
// keywords stay in `raw`, for the checks that refuse them.
import {
  isJsonObject,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textsAt,
  valueAt,
} from "../kinds/fields.ts";

export interface JsonSchema {
  /** "" when the schema has none, like the other texts. */
  readonly type: string;
  readonly format: string;
  readonly pattern: string;
  readonly nullable: boolean;
  /** Undefined when there is none: null cannot be a default. */
  readonly default: unknown;
  readonly enum: readonly unknown[];
  readonly properties: ReadonlyMap<string, JsonSchema>;
  readonly required: readonly string[];
  readonly items: JsonSchema | undefined;
  readonly additionalProperties: JsonSchema | boolean | undefined;
  readonly allOf: readonly JsonSchema[];
  readonly anyOf: readonly JsonSchema[];
  readonly oneOf: readonly JsonSchema[];
  readonly not: JsonSchema | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly multipleOf: number | undefined;
  readonly maxLength: number | undefined;
  readonly minLength: number | undefined;
  readonly maxItems: number | undefined;
  readonly minItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly maxProperties: number | undefined;
  readonly minProperties: number | undefined;
  readonly preservesUnknownFields: boolean;
  readonly isEmbeddedResource: boolean;
  readonly isIntOrString: boolean;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  readonly mapType: string;
  readonly rules: readonly ValidationRule[];
  /** As the definition has it. */
  readonly raw: JsonObject;
}

/** One of `x-kubernetes-validations`. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  /** Undefined when not given; then `FieldValueInvalid`. */
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
  readonly raw: JsonObject;
}

export function readSchema(raw: JsonObject): JsonSchema {
  const items = valueAt(raw, "items");
  const not = objectAt(raw, "not");
  return {
    type: textAt(raw, "type"),
    format: textAt(raw, "format"),
    pattern: textAt(raw, "pattern"),
    nullable: raw["nullable"] === true,
    default: valueAt(raw, "default"),
    enum: listAt(raw, "enum"),
    properties: readProperties(objectAt(raw, "properties")),
    required: textsAt(raw, "required"),
    items: isJsonObject(items) ? readSchema(items) : undefined,
    additionalProperties: readAdditional(valueAt(raw, "additionalProperties")),
    allOf: objectsAt(raw, "allOf").map(readSchema),
    anyOf: objectsAt(raw, "anyOf").map(readSchema),
    oneOf: objectsAt(raw, "oneOf").map(readSchema),
    not: not && readSchema(not),
    ...readBounds(raw),
    preservesUnknownFields: raw["x-kubernetes-preserve-unknown-fields"] === true,
    isEmbeddedResource: raw["x-kubernetes-embedded-resource"] === true,
    isIntOrString: raw["x-kubernetes-int-or-string"] === true,
    listType: textAt(raw, "x-kubernetes-list-type"),
    listMapKeys: textsAt(raw, "x-kubernetes-list-map-keys"),
    mapType: textAt(raw, "x-kubernetes-map-type"),
    rules: objectsAt(raw, "x-kubernetes-validations").map(readRule),
    raw,
  };
}

/** The schema of a field: its own, or the one for all others. */
export function fieldSchema(schema: JsonSchema, field: string): JsonSchema | undefined {
  const own = schema.properties.get(field);
  if (own !== undefined) return own;
  const { additionalProperties } = schema;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** Whether the predicate holds for the schema or any below it. */
export function someSchema(schema: JsonSchema, holds: (schema: JsonSchema) => boolean): boolean {
  return holds(schema) || schemasIn(schema).some((inner) => someSchema(inner, holds));
}

function schemasIn(schema: JsonSchema): readonly JsonSchema[] {
  const { items, additionalProperties, not } = schema;
  return [
    ...(items === undefined ? [] : [items]),
    ...schema.allOf,
    ...schema.anyOf,
    ...schema.oneOf,
    ...(not === undefined ? [] : [not]),
    ...schema.properties.values(),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
}

type Bounds = Pick<
  JsonSchema,
  | "exclusiveMaximum"
  | "exclusiveMinimum"
  | "maximum"
  | "maxItems"
  | "maxLength"
  | "maxProperties"
  | "minimum"
  | "minItems"
  | "minLength"
  | "minProperties"
  | "multipleOf"
  | "uniqueItems"
>;

function readBounds(raw: JsonObject): Bounds {
  return {
    maximum: numberAt(raw, "maximum"),
    exclusiveMaximum: raw["exclusiveMaximum"] === true,
    minimum: numberAt(raw, "minimum"),
    exclusiveMinimum: raw["exclusiveMinimum"] === true,
    multipleOf: numberAt(raw, "multipleOf"),
    maxLength: numberAt(raw, "maxLength"),
    minLength: numberAt(raw, "minLength"),
    maxItems: numberAt(raw, "maxItems"),
    minItems: numberAt(raw, "minItems"),
    uniqueItems: raw["uniqueItems"] === true,
    maxProperties: numberAt(raw, "maxProperties"),
    minProperties: numberAt(raw, "minProperties"),
  };
}

function readProperties(raw: JsonObject | undefined): ReadonlyMap<string, JsonSchema> {
  const properties = new Map<string, JsonSchema>();
  for (const [name, schema] of Object.entries(raw ?? {})) {
    if (isJsonObject(schema)) properties.set(name, readSchema(schema));
  }
  return properties;
}

function readAdditional(raw: unknown): JsonSchema | boolean | undefined {
  return isJsonObject(raw) ? readSchema(raw) : typeof raw === "boolean" ? raw : undefined;
}

function readRule(raw: JsonObject): ValidationRule {
  const optional = raw["optionalOldSelf"];
  return {
    rule: textAt(raw, "rule"),
    message: textAt(raw, "message"),
    messageExpression: textAt(raw, "messageExpression"),
    reason: textAt(raw, "reason") || undefined,
    fieldPath: textAt(raw, "fieldPath"),
    optionalOldSelf: typeof optional === "boolean" ? optional : undefined,
    raw,
  };
}
