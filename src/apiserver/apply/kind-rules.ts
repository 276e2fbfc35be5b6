// What field ownership needs to know of a kind: the types of its versions, its empty object, and
// which fields a request on it or on one of its subresources has no say in.
import { conform } from "../decode/conform.ts";
import type { JsonObject } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import { FieldSet } from "./field-set.ts";
import { fieldElement } from "./path-element.ts";
import type { UpdaterOptions } from "./updater.ts";
import type { ValueType } from "./value-type.ts";
import { builtInType, structuralType } from "./value-type.ts";

/** How the kinds that are served at the moment are found. */
export interface KindFinder {
  find(group: string, version: string, resource: string): ResourceKind | undefined;
}

/** "" is the object itself. */
export function rulesOf(
  kind: ResourceKind,
  subresource: string,
  kinds: KindFinder,
): UpdaterOptions {
  const own = groupVersion(kind);
  const reset = resetFieldsOf(kind, subresource);
  return {
    apiVersion: own,
    typeAt: (apiVersion) =>
      apiVersion === own ? typeOfKind(kind) : typeOfOther(kind, apiVersion, kinds),
    resetFields: () => reset,
  };
}

const customTypes = new WeakMap<ResourceKind, ValueType>();

export function typeOfKind(kind: ResourceKind): ValueType {
  if (kind.custom === undefined) return builtInType(kind.schema);
  let type = customTypes.get(kind);
  if (type === undefined) {
    type = structuralType(kind.custom.openApi);
    customTypes.set(kind, type);
  }
  return type;
}

/** What an object is before anybody has set anything. */
export function emptyObject(kind: ResourceKind): JsonObject {
  const fields = kind.custom === undefined ? conform(kind.schema, {}).value : {};
  return { ...fields, apiVersion: groupVersion(kind), kind: kind.kind };
}

/** Another version of the same kind; its objects differ in nothing but their apiVersion. */
function typeOfOther(
  kind: ResourceKind,
  apiVersion: string,
  kinds: KindFinder,
): ValueType | undefined {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const other = kinds.find(group ?? "", version ?? "", kind.resource);
  if (other === undefined) return undefined;
  // The two groups of events share their storage; the fields of one are not those of the other.
  return other.group === kind.group ? typeOfKind(other) : typeOfKind(kind);
}

const metadata = fieldElement("metadata");
const spec = fieldElement("spec");
const status = fieldElement("status");

/** As the strategies of k8s.io/kubernetes/pkg/registry name them, beside spec and status. */
const metadataResetByStatus: Readonly<Record<string, readonly string[]>> = {
  "apps/Deployment": ["labels"],
  "/Pod": ["deletionTimestamp", "ownerReferences"],
};

function resetFieldsOf(kind: ResourceKind, subresource: string): FieldSet {
  switch (subresource) {
    case "status": {
      if (kind.custom !== undefined) return FieldSet.of([metadata], [spec]);
      const fields = metadataResetByStatus[`${kind.group}/${kind.kind}`] ?? [];
      return FieldSet.of([spec], ...fields.map((field) => [metadata, fieldElement(field)]));
    }
    case "":
    case "finalize":
      return kind.subresources.includes("status") ? FieldSet.of([status]) : new FieldSet();
    default:
      return new FieldSet();
  }
}
