// Parts of a definition as the real server shows them in messages: JSON of its internal Go types, with
// every field under its Go name.
import {
  isJsonObject,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "../kinds/fields.ts";
import type { DefinitionVersion } from "./definition.ts";

/** `shared` parts are shown at the top of the spec and so not in the version. */
export function shownVersion(version: DefinitionVersion, shared: ReadonlySet<string>): JsonObject {
  const { raw } = version;
  const own = (field: string) => (shared.has(field) ? undefined : valueAt(raw, field));
  const schema = own("schema");
  const subresources = own("subresources");
  return {
    Name: version.name,
    Served: version.isServed,
    Storage: version.isStorage,
    Deprecated: version.isDeprecated,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: isJsonObject(schema)
      ? { OpenAPIV3Schema: schemaOrNull(valueAt(schema, "openAPIV3Schema")) }
      : null,
    Subresources: isJsonObject(subresources) ? shownSubresources(subresources) : null,
    AdditionalPrinterColumns: shared.has("additionalPrinterColumns")
      ? null
      : orNull(version.printerColumns.map(shownColumn)),
    SelectableFields: shared.has("selectableFields")
      ? null
      : orNull(version.selectableFields.map((JSONPath) => ({ JSONPath }))),
  };
}

export function shownRule(raw: JsonObject): JsonObject {
  return {
    Rule: textAt(raw, "rule"),
    Message: textAt(raw, "message"),
    MessageExpression: textAt(raw, "messageExpression"),
    Reason: valueAt(raw, "reason") ?? null,
    FieldPath: textAt(raw, "fieldPath"),
    OptionalOldSelf: valueAt(raw, "optionalOldSelf") ?? null,
  };
}

type Form = "text" | "flag" | "value" | "schema" | "schemas" | "named" | "items" | "additional";

/** Every keyword in the order of the Go type: its name there, its name in JSON, its content. */
const keywords: readonly (readonly [string, string, Form])[] = [
  ["ID", "id", "text"],
  ["Schema", "$schema", "text"],
  ["Ref", "$ref", "value"],
  ["Description", "description", "text"],
  ["Type", "type", "text"],
  ["Nullable", "nullable", "flag"],
  ["Format", "format", "text"],
  ["Title", "title", "text"],
  ["Default", "default", "value"],
  ["Maximum", "maximum", "value"],
  ["ExclusiveMaximum", "exclusiveMaximum", "flag"],
  ["Minimum", "minimum", "value"],
  ["ExclusiveMinimum", "exclusiveMinimum", "flag"],
  ["MaxLength", "maxLength", "value"],
  ["MinLength", "minLength", "value"],
  ["Pattern", "pattern", "text"],
  ["MaxItems", "maxItems", "value"],
  ["MinItems", "minItems", "value"],
  ["UniqueItems", "uniqueItems", "flag"],
  ["MultipleOf", "multipleOf", "value"],
  ["Enum", "enum", "value"],
  ["MaxProperties", "maxProperties", "value"],
  ["MinProperties", "minProperties", "value"],
  ["Required", "required", "value"],
  ["Items", "items", "items"],
  ["AllOf", "allOf", "schemas"],
  ["OneOf", "oneOf", "schemas"],
  ["AnyOf", "anyOf", "schemas"],
  ["Not", "not", "schema"],
  ["Properties", "properties", "named"],
  ["AdditionalProperties", "additionalProperties", "additional"],
  ["PatternProperties", "patternProperties", "named"],
  ["Dependencies", "dependencies", "value"],
  ["AdditionalItems", "additionalItems", "additional"],
  ["Definitions", "definitions", "named"],
  ["ExternalDocs", "externalDocs", "value"],
  ["Example", "example", "value"],
  ["XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "value"],
  ["XEmbeddedResource", "x-kubernetes-embedded-resource", "flag"],
  ["XIntOrString", "x-kubernetes-int-or-string", "flag"],
  ["XListMapKeys", "x-kubernetes-list-map-keys", "value"],
  ["XListType", "x-kubernetes-list-type", "value"],
  ["XMapType", "x-kubernetes-map-type", "value"],
];

export function shownSchema(raw: JsonObject): JsonObject {
  const shown: JsonObject = {};
  for (const [name, keyword, form] of keywords) shown[name] = shownKeyword(raw, keyword, form);
  shown["XValidations"] = orNull(objectsAt(raw, "x-kubernetes-validations").map(shownRule));
  return shown;
}

function shownKeyword(raw: JsonObject, keyword: string, form: Form): unknown {
  const value = valueAt(raw, keyword);
  switch (form) {
    case "text":
      return textAt(raw, keyword);
    case "flag":
      return value === true;
    case "value":
      return value ?? null;
    case "schema":
      return schemaOrNull(value);
    case "schemas":
      return orNull(objectsAt(raw, keyword).map(shownSchema));
    case "named":
      return shownNamed(objectAt(raw, keyword));
    case "items":
      return isJsonObject(value) ? { Schema: shownSchema(value), JSONSchemas: null } : null;
    case "additional":
      if (typeof value === "boolean") return { Allows: value, Schema: null };
      return isJsonObject(value) ? { Allows: true, Schema: shownSchema(value) } : null;
  }
}

function shownNamed(raw: JsonObject | undefined): JsonObject | null {
  if (raw === undefined) return null;
  const sorted = Object.entries(raw).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, schema]) => [name, schemaOrNull(schema)]));
}

function schemaOrNull(value: unknown): JsonObject | null {
  return isJsonObject(value) ? shownSchema(value) : null;
}

function orNull(list: readonly unknown[]): readonly unknown[] | null {
  return list.length === 0 ? null : list;
}

function shownSubresources(raw: JsonObject): JsonObject {
  const scale = objectAt(raw, "scale");
  return {
    Status: objectAt(raw, "status") === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: textAt(scale, "specReplicasPath"),
            StatusReplicasPath: textAt(scale, "statusReplicasPath"),
            LabelSelectorPath: valueAt(scale, "labelSelectorPath") ?? null,
          },
  };
}

function shownColumn(raw: JsonObject): JsonObject {
  return {
    Name: textAt(raw, "name"),
    Type: textAt(raw, "type"),
    Format: textAt(raw, "format"),
    Description: textAt(raw, "description"),
    Priority: valueAt(raw, "priority") ?? 0,
    JSONPath: textAt(raw, "jsonPath"),
  };
}
