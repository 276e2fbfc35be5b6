// Value types of custom resources, read from the OpenAPI v3 schema of a definition's version. What
// a schema leaves open is deduced from the values themselves.
import { isJsonObject, type JsonObject, objectAt, textAt, textsAt } from "../kinds/fields.ts";
import { tableType } from "./table-type.ts";
import {
  deduced,
  type ListType,
  type MapType,
  type ScalarType,
  type StructField,
  untypedAtomic,
  type ValueType,
} from "./value-type.ts";

/** The type of whole objects: every one has a kind and metadata, whatever its schema says. */
export function structuralType(openApi: JsonObject): ValueType {
  return typeOf(openApi, { keepsUnknown: false, isResource: true });
}

interface Context {
  /** Fields the schema does not name are kept, here and below. */
  readonly keepsUnknown: boolean;
  readonly isResource: boolean;
}

const scalars: Readonly<Record<string, ScalarType>> = {
  boolean: "boolean",
  integer: "number",
  number: "number",
};

function typeOf(schema: JsonObject, context: Context): ValueType {
  const keepsUnknown =
    context.keepsUnknown || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const isResource = context.isResource || schema["x-kubernetes-embedded-resource"] === true;
  const inner = { keepsUnknown, isResource };
  switch (textAt(schema, "type")) {
    case "object":
      return { map: new StructuralMap(schema, inner) };
    case "array":
      return { list: listOf(schema, inner) };
    case "string":
      // Formats may stand for other kinds of value, such as int-or-string.
      return { scalar: ["", "byte"].includes(textAt(schema, "format")) ? "string" : "any" };
    case "boolean":
    case "integer":
    case "number":
      return { scalar: scalars[textAt(schema, "type")] ?? "any" };
    default:
      return {
        scalar: "any",
        list: listOf(schema, inner),
        map: new StructuralMap(schema, inner),
      };
  }
}

function listOf(schema: JsonObject, { keepsUnknown }: Context): ListType {
  const listType = textAt(schema, "x-kubernetes-list-type");
  const items = objectAt(schema, "items");
  return {
    isAtomic: listType !== "map" && listType !== "set",
    keys: listType === "map" ? textsAt(schema, "x-kubernetes-list-map-keys") : [],
    element:
      items === undefined ? untypedAtomic : typeOf(items, { keepsUnknown, isResource: false }),
  };
}

class StructuralMap implements MapType {
  readonly isAtomic: boolean;
  readonly isDeduced: boolean;
  readonly element: ValueType | undefined;
  readonly #fields: ReadonlyMap<string, StructField>;

  constructor(schema: JsonObject, { keepsUnknown, isResource }: Context) {
    const below = { keepsUnknown, isResource: false };
    const properties = Object.entries(objectAt(schema, "properties") ?? {}).filter(
      (entry): entry is [string, JsonObject] => isJsonObject(entry[1]),
    );
    this.#fields = new Map([
      ...properties.map(([name, property]): [string, StructField] => [
        name,
        {
          type: typeOf(property, below),
          ...(property["default"] === undefined ? {} : { keyDefault: property["default"] }),
        },
      ]),
      ...(isResource ? resourceFields : []),
    ]);
    this.isAtomic = textAt(schema, "x-kubernetes-map-type") === "atomic";
    this.element = elementOf(schema, below, this.#fields.size > 0);
    this.isDeduced = this.element === deduced && this.#fields.size === 0;
  }

  field(name: string): StructField | undefined {
    return this.#fields.get(name);
  }
}

const resourceFields: readonly [string, StructField][] = [
  ["apiVersion", { type: { scalar: "string" } }],
  ["kind", { type: { scalar: "string" } }],
  ["metadata", { type: tableType("meta.v1.ObjectMeta") }],
];

function elementOf(
  schema: JsonObject,
  context: Context,
  hasFields: boolean,
): ValueType | undefined {
  const additional = schema["additionalProperties"];
  if (isJsonObject(additional)) return typeOf(additional, context);
  if (additional === true) return deduced;
  if (additional === false) return undefined;
  // An object without any properties is free in its form.
  return context.keepsUnknown || !hasFields ? deduced : undefined;
}
