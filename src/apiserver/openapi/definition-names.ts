// The names under which OpenAPI documents have types: `io.k8s.api.core.v1.Pod` for what the schema
// table calls `core.v1.Pod`, and a custom kind's group turned around, `com.example.v1.Shop`.
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { Schema } from "../kinds/schema.ts";

const machinery = "io.k8s.apimachinery.pkg";

export const statusName = `${machinery}.apis.meta.v1.Status`;
export const deleteOptionsName = `${machinery}.apis.meta.v1.DeleteOptions`;
export const listMetaName = `${machinery}.apis.meta.v1.ListMeta`;
export const objectMetaName = `${machinery}.apis.meta.v1.ObjectMeta`;
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
export function valueDefinitionName(type: Schema["type"]): string | undefined {
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
