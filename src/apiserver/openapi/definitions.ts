// The types of an OpenAPI document, in the form of version 3, made from the schema table and from
// the schemas of custom kinds. It has only the types that the given kinds reach. Descriptions are
// left out: the table holds facts, not prose.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { type Schema, schemas } from "../kinds/schema.ts";

type Definitions = Readonly<Record<string, JsonObject>>;

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

/** The schema of a custom kind lacks the fields that every object has. */
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

/** Clients find the type of a kind by this extension. */
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

// Names of types in OpenAPI documents: `io.k8s.api.core.v1.Pod` for `core.v1.Pod` of the schema
// table, and the reversed group for a custom kind, `com.example.v1.Shop`.

const machinery = "io.k8s.apimachinery.pkg";

export const statusName = `${machinery}.apis.meta.v1.Status`;
export const deleteOptionsName = `${machinery}.apis.meta.v1.DeleteOptions`;
const listMetaName = `${machinery}.apis.meta.v1.ListMeta`;
const objectMetaName = `${machinery}.apis.meta.v1.ObjectMeta`;
export const patchName = `${machinery}.apis.meta.v1.Patch`;

/** `meta.v1.ObjectMeta` → `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`. */
export function typeDefinitionName(typeName: string): string {
  if (typeName.startsWith("meta.")) {
    return `${machinery}.apis.${typeName}`;
  }
  return typeName.startsWith("apiextensions.")
    ? `io.k8s.apiextensions-apiserver.pkg.apis.${typeName}`
    : `io.k8s.api.${typeName}`;
}

/** Types that are one value and yet have a name; undefined for plain ones. */
function valueDefinitionName(type: Schema["type"]): string | undefined {
  switch (type) {
    case "intOrString":
      return `${machinery}.util.intstr.IntOrString`;
    case "quantity":
      return `${machinery}.api.resource.Quantity`;
    case "time":
      return `${machinery}.apis.meta.v1.Time`;
    case "microTime":
      return `${machinery}.apis.meta.v1.MicroTime`;
    default:
      return undefined;
  }
}

export function kindDefinitionName(kind: ResourceKind): string {
  return kind.custom === undefined
    ? typeDefinitionName(kind.schema)
    : [...kind.group.split(".").reverse(), kind.version, kind.kind].join(".");
}

export function listDefinitionName(kind: ResourceKind): string {
  return kind.listKind === undefined
    ? `${kindDefinitionName(kind)}List`
    : kindDefinitionName(kind).replace(/[^.]+$/, kind.listKind);
}
