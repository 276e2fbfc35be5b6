// The OpenAPI v3 documents, made from the same schemas that check requests. kubectl reads them to
// learn that the server validates fields itself; without them `kubectl create` refuses to go on.
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { Schema } from "../kinds/schema.ts";
import { schemas } from "../kinds/schemas.generated.ts";

const root = "/openapi/v3";

/** The document at the path; undefined for any other path. */
export function openApiDocument(path: string, served: readonly ResourceKind[]): object | undefined {
  if (path === root) {
    const places = [...new Set(served.map(groupPath))];
    return {
      paths: Object.fromEntries(
        places.map((place) => [place, { serverRelativeURL: `${root}/${place}` }]),
      ),
    };
  }
  const kinds = served.filter((kind) => path === `${root}/${groupPath(kind)}`);
  return kinds.length === 0 ? undefined : describeGroup(kinds);
}

function groupPath(kind: ResourceKind): string {
  return kind.group === "" ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
}

function describeGroup(kinds: readonly ResourceKind[]): object {
  const used = new Set<string>();
  for (const kind of kinds) {
    collectTypes(kind.schema, used);
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1" },
    paths: Object.fromEntries(
      kinds.map((kind) => [objectPath(kind), { patch: patchOperation(kind) }]),
    ),
    components: {
      schemas: Object.fromEntries(
        [...used].sort().map((name) => [name, describeType(name, kinds)]),
      ),
    },
  };
}

function objectPath(kind: ResourceKind): string {
  const scope = kind.namespaced ? "namespaces/{namespace}/" : "";
  return `/${groupPath(kind)}/${scope}${kind.resource}/{name}`;
}

function patchOperation(kind: ResourceKind): object {
  const queries = ["dryRun", "fieldManager", "fieldValidation"].map((name) => ({
    name,
    in: "query",
    schema: { type: "string", uniqueItems: true },
  }));
  return {
    operationId: `patch${kind.kind}`,
    parameters: queries,
    responses: { "200": { description: "OK" } },
    "x-kubernetes-action": "patch",
    "x-kubernetes-group-version-kind": gvk(kind),
  };
}

function gvk(kind: ResourceKind): object {
  return { group: kind.group, kind: kind.kind, version: kind.version };
}

function collectTypes(name: string, used: Set<string>): void {
  if (used.has(name)) {
    return;
  }
  used.add(name);
  for (const schema of Object.values(schemas[name]?.fields ?? {})) {
    for (const reference of references(schema)) {
      collectTypes(reference, used);
    }
  }
}

function references(schema: Schema): readonly string[] {
  if (schema.type === "ref") {
    return [schema.to];
  }
  return schema.type === "array" || schema.type === "map" ? references(schema.of) : [];
}

function describeType(name: string, kinds: readonly ResourceKind[]): object {
  const type = schemas[name];
  const kind = kinds.find((candidate) => candidate.schema === name);
  return {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(type?.fields ?? {}).map(([field, schema]) => [field, describeField(schema)]),
    ),
    ...(type?.required === undefined ? {} : { required: type.required }),
    ...(kind === undefined ? {} : { "x-kubernetes-group-version-kind": [gvk(kind)] }),
  };
}

function describeField(schema: Schema): object {
  switch (schema.type) {
    case "ref":
      return { $ref: `#/components/schemas/${schema.to}` };
    case "array":
      return {
        type: "array",
        items: describeField(schema.of),
        ...(schema.listType === undefined ? {} : { "x-kubernetes-list-type": schema.listType }),
        ...(schema.mapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": schema.mapKeys }),
        ...(schema.mergeKey === undefined
          ? {}
          : { "x-kubernetes-patch-merge-key": schema.mergeKey }),
        ...(schema.patchStrategy === undefined
          ? {}
          : { "x-kubernetes-patch-strategy": schema.patchStrategy.join(",") }),
      };
    case "map":
      return { type: "object", additionalProperties: describeField(schema.of) };
    case "json":
      return { type: "object" };
    case "int32":
    case "int64":
      return { type: "integer", format: schema.type };
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
      return { type: schema.type };
  }
}
