// The types of an OpenAPI document, in the form of version 3, made from the schema table and from
// the schemas of custom kinds. Only what the given kinds can reach is in it. Descriptions are left
// out: the table holds facts, not prose.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { type Schema, schemas } from "../kinds/schema.ts";
import {
  deleteOptionsName,
  kindDefinitionName,
  listDefinitionName,
  listMetaName,
  objectMetaName,
  patchName,
  statusName,
  typeDefinitionName,
  valueDefinitionName,
} from "./definition-names.ts";

export type Definitions = Readonly<Record<string, JsonObject>>;

/** A type that is sent to a subresource, with the kind that it is. */
export interface ExtraType {
  readonly type: string;
  readonly gvk: JsonObject;
}

/** Where a document of version 3 keeps them. */
const place = "#/components/schemas/";

/** In the order of their names. */
export function definitionsFor(
  kinds: readonly ResourceKind[],
  extraTypes: readonly ExtraType[],
): Definitions {
  const found = new Map<string, JsonObject>();
  for (const type of ["meta.v1.DeleteOptions", "meta.v1.ListMeta", "meta.v1.Status"]) {
    addType(type, found);
  }
  for (const { type, gvk } of extraTypes) {
    addType(type, found);
    mark(typeDefinitionName(type), [gvk], found);
  }
  found.set(patchName, { type: "object" });
  for (const kind of kinds) {
    addKind(kind, found);
  }
  addGroupVersionKinds(kinds, found);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function reference(name: string): JsonObject {
  return { $ref: place + name };
}

export function gvkOf({ group, version, kind }: ResourceKind): JsonObject {
  return { group, kind, version };
}

function addKind(kind: ResourceKind, found: Map<string, JsonObject>): void {
  const name = kindDefinitionName(kind);
  if (kind.custom === undefined) {
    addType(kind.schema, found);
  } else {
    addType("meta.v1.ObjectMeta", found);
    found.set(name, customDefinition(kind.custom.openApi));
  }
  if (kind.createOnly === undefined) {
    found.set(listDefinitionName(kind), {
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { type: "string" },
        items: { type: "array", items: { default: {}, allOf: [reference(name)] } },
        kind: { type: "string" },
        metadata: { default: {}, allOf: [reference(listMetaName)] },
      },
    });
  }
}

/** A custom kind's schema says nothing of what every object has. */
function customDefinition(openApi: JsonObject): JsonObject {
  const properties = isJsonObject(openApi["properties"]) ? openApi["properties"] : {};
  return {
    type: "object",
    ...openApi,
    properties: {
      ...properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { allOf: [reference(objectMetaName)] },
    },
  };
}

function addType(typeName: string, found: Map<string, JsonObject>): void {
  const name = typeDefinitionName(typeName);
  if (found.has(name)) {
    return;
  }
  const type = schemas[typeName];
  const properties: JsonObject = {};
  // Set before its fields are looked at: a type may contain itself.
  found.set(name, {
    type: "object",
    ...(type?.required === undefined ? {} : { required: type.required }),
    properties,
    ...(type?.atomic === true ? { "x-kubernetes-map-type": "atomic" } : {}),
  });
  for (const [field, schema] of Object.entries(type?.fields ?? {})) {
    properties[field] = describeField(schema, found);
  }
}

function describeField(schema: Schema, found: Map<string, JsonObject>): JsonObject {
  const described = describe(schema, found);
  const strategy = schema.patchStrategy?.join(",");
  return {
    ...("$ref" in described ? { allOf: [described] } : described),
    ...(schema.default === undefined ? {} : { default: schema.default }),
    ...(schema.type === "array" && schema.mergeKey !== undefined
      ? { "x-kubernetes-patch-merge-key": schema.mergeKey }
      : {}),
    ...(strategy === undefined ? {} : { "x-kubernetes-patch-strategy": strategy }),
  };
}

function describe(schema: Schema, found: Map<string, JsonObject>): JsonObject {
  const named = valueDefinitionName(schema.type);
  if (named !== undefined) {
    found.set(named, describeValue(schema.type));
    return reference(named);
  }
  switch (schema.type) {
    case "ref":
      addType(schema.to, found);
      return reference(typeDefinitionName(schema.to));
    case "array":
      return {
        type: "array",
        items: describe(schema.of, found),
        ...(schema.mapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": schema.mapKeys }),
        ...(schema.listType === undefined ? {} : { "x-kubernetes-list-type": schema.listType }),
      };
    case "map":
      return {
        type: "object",
        additionalProperties: describe(schema.of, found),
        ...(schema.atomic === true ? { "x-kubernetes-map-type": "atomic" } : {}),
      };
    default:
      return describeValue(schema.type);
  }
}

function describeValue(type: Schema["type"]): JsonObject {
  switch (type) {
    case "int32":
    case "int64":
      return { type: "integer", format: type };
    case "intOrString":
      return { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] };
    case "quantity":
      return { oneOf: [{ type: "string" }, { type: "number" }] };
    case "time":
    case "microTime":
      return { type: "string", format: "date-time" };
    case "bytes":
      return { type: "string", format: "byte" };
    case "boolean":
    case "number":
    case "string":
      return { type };
    default:
      return { type: "object" };
  }
}

/** How clients find the type of a kind: by what is written on it. */
function addGroupVersionKinds(
  kinds: readonly ResourceKind[],
  found: Map<string, JsonObject>,
): void {
  for (const kind of kinds) {
    const listKind = kind.listKind ?? `${kind.kind}List`;
    mark(kindDefinitionName(kind), [gvkOf(kind)], found);
    mark(listDefinitionName(kind), [gvkOf({ ...kind, kind: listKind })], found);
  }
  const [first] = kinds;
  if (first !== undefined) {
    const options = kinds.map((kind) => gvkOf({ ...kind, kind: "DeleteOptions" }));
    const core = gvkOf({ ...first, ...coreDeleteOptions });
    mark(deleteOptionsName, unique([core, ...options]), found);
    mark(statusName, [gvkOf({ ...first, group: "", version: "v1", kind: "Status" })], found);
  }
}

function mark(name: string, gvks: readonly JsonObject[], found: Map<string, JsonObject>): void {
  const definition = found.get(name);
  if (definition !== undefined) {
    definition["x-kubernetes-group-version-kind"] = gvks;
  }
}

const coreDeleteOptions = { group: "", version: "v1", kind: "DeleteOptions" };

function unique(gvks: readonly JsonObject[]): readonly JsonObject[] {
  return [...new Map(gvks.map((gvk) => [JSON.stringify(gvk), gvk])).values()];
}
