// Field ownership of one server: the `managedFields` after a write, for any kind and subresource.
// Fields have owners from the object's creation, as in the real server, or only from its first
// apply, which costs nothing until then.
import type { Clock } from "../../environment/clock.ts";
import { conform } from "../decode/conform.ts";
import type { ResourceRoute } from "../http/route.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { groupVersion, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { RequestContext } from "../verbs/request-context.ts";
import { scaleKind, scaleOf } from "../verbs/scale.ts";
import { FieldOwnership, type TrackFrom } from "./field-ownership.ts";
import { FieldSet } from "./field-set.ts";
import { decodeManagedFields, encodeManagedFields, type ManagedFields } from "./managed-fields.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { builtInType, structuralType, type ValueType } from "./value-type.ts";

/** The kinds that the server serves now. */
export interface KindFinder {
  find(group: string, version: string, resource: string): ResourceKind | undefined;
}

export interface FieldTrackingOptions {
  readonly clock: Clock;
  readonly kinds: KindFinder;
  readonly trackFrom: TrackFrom;
}

export class FieldTracking {
  readonly #options: FieldTrackingOptions;

  constructor(options: FieldTrackingOptions) {
    this.#options = options;
  }

  /** For one write that is not an apply; `managerOf` is called for tracked objects only. */
  recorder(
    { kind, subresource }: Pick<ResourceRoute, "kind" | "subresource">,
    managerOf: () => string,
  ): RequestContext["managedFieldsAfter"] {
    return (updated, live) => {
      if (this.#isUntracked(updated, live)) return undefined;
      const manager = managerOf();
      return subresource === "scale" && live !== undefined
        ? this.#afterScale(kind, { live, updated, manager })
        : this.of(kind, subresource ?? "").afterUpdate({ live, updated, manager });
    };
  }

  /** A fast path for servers where most objects have no owners. */
  #isUntracked({ metadata }: KubeObject, live: KubeObject | undefined): boolean {
    if (this.#options.trackFrom === "creation" && live === undefined) return false;
    return metadata.managedFields === undefined && live?.metadata.managedFields === undefined;
  }

  /** The subresource "" is the object itself. */
  of(kind: ResourceKind, subresource: string): FieldOwnership {
    const { clock, kinds, trackFrom } = this.#options;
    const apiVersion = groupVersion(kind);
    const resetFields = resetFieldsOf(kind, subresource);
    return new FieldOwnership({
      clock,
      trackFrom,
      subresource,
      kind: kind.kind,
      apiVersion,
      typeAt: (version) =>
        version === apiVersion ? typeOfKind(kind) : typeOfVersion(kind, version, kinds),
      resetFields: () => resetFields,
      empty: () => emptyObject(kind),
    });
  }

  /** For Scales of all kinds. */
  ofScale(): FieldOwnership {
    const { clock, trackFrom } = this.#options;
    const { kind, apiVersion, schema } = scaleKind;
    const type = builtInType(schema);
    const noFields = new FieldSet();
    return new FieldOwnership({
      clock,
      trackFrom,
      subresource: "scale",
      kind,
      apiVersion,
      typeAt: (version) => (version === apiVersion ? type : undefined),
      resetFields: () => noFields,
      empty: () => ({ ...conform(schema, {}).value, apiVersion, kind }),
    });
  }

  #afterScale(
    kind: ResourceKind,
    write: { readonly live: KubeObject; readonly updated: KubeObject; readonly manager: string },
  ): JsonObject[] | undefined {
    const { live, updated, manager } = write;
    const scale = this.ofScale().afterUpdate({
      live: ownedScaleOf(kind, live),
      updated: scaleOf(updated, kind.custom?.scale),
      manager,
    });
    return parentManagedFields(kind, live.metadata.managedFields, scale);
  }
}

const customTypes = new WeakMap<ResourceKind, ValueType>();

function typeOfKind(kind: ResourceKind): ValueType {
  if (kind.custom === undefined) return builtInType(kind.schema);
  let type = customTypes.get(kind);
  if (type === undefined) {
    type = structuralType(kind.custom.openApi);
    customTypes.set(kind, type);
  }
  return type;
}

/** Another version of the kind. Its objects differ only in their apiVersion. */
function typeOfVersion(
  kind: ResourceKind,
  apiVersion: string,
  kinds: KindFinder,
): ValueType | undefined {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const other = kinds.find(group ?? "", version ?? "", kind.resource);
  if (other === undefined) return undefined;
  // The two groups of Events share their storage, but have different fields.
  return other.group === kind.group ? typeOfKind(other) : typeOfKind(kind);
}

/** An object without any field set by a client. */
function emptyObject(kind: ResourceKind): JsonObject {
  const fields = kind.custom === undefined ? conform(kind.schema, {}).value : {};
  return { ...fields, apiVersion: groupVersion(kind), kind: kind.kind };
}

const metadata = fieldElement("metadata");
const spec = fieldElement("spec");
const status = fieldElement("status");

/** Beside spec and status, from the strategies in k8s.io/kubernetes/pkg/registry. */
const metadataResetByStatus: Readonly<Record<string, readonly string[]>> = {
  "apps/Deployment": ["labels"],
  "/Pod": ["deletionTimestamp", "ownerReferences"],
};

/** The fields that a write through the subresource cannot change. */
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

const scalePath = [spec, fieldElement("replicas")];

/** The Scale of an object. The owners of the object's replicas own the Scale's. */
export function ownedScaleOf(kind: ResourceKind, object: KubeObject): JsonObject {
  const scale = scaleOf(object, kind.custom?.scale);
  const managedFields = scaleManagedFields(kind, object.metadata.managedFields);
  if (managedFields === undefined) return scale;
  const meta = isJsonObject(scale["metadata"]) ? scale["metadata"] : {};
  return { ...scale, metadata: { ...meta, managedFields } };
}

function scaleManagedFields(
  kind: ResourceKind,
  parent: readonly unknown[] | undefined,
): JsonObject[] | undefined {
  const path = replicasPath(kind);
  const scale: ManagedFields = new Map();
  for (const [key, entry] of decodeManagedFields(parent)) {
    if (isKnownVersion(kind, entry.apiVersion) && entry.fields.has(path)) {
      const { apiVersion } = scaleKind;
      scale.set(key, { ...entry, apiVersion, fields: FieldSet.of(scalePath) });
    }
  }
  return encodeManagedFields(scale);
}

/** The `managedFields` of the object after a write of its Scale; `scale` has the Scale's. */
export function parentManagedFields(
  kind: ResourceKind,
  parent: readonly unknown[] | undefined,
  scale: readonly unknown[] | undefined,
): JsonObject[] | undefined {
  const path = replicasPath(kind);
  const before = decodeManagedFields(parent);
  const after = decodeManagedFields(scale);
  const result: ManagedFields = new Map();
  for (const [key, entry] of before) {
    if (!isKnownVersion(kind, entry.apiVersion)) continue;
    if (!entry.fields.has(path) || after.delete(key)) {
      result.set(key, entry);
    } else {
      const fields = entry.fields.difference(FieldSet.of(path));
      if (!fields.isEmpty) result.set(key, { ...entry, fields });
    }
  }
  for (const [key, entry] of after) {
    if (entry.fields.has(scalePath)) {
      const fields = FieldSet.of(path);
      // The real server takes the time from the object's entries, so new managers have none.
      const time = before.get(key)?.time;
      result.set(key, { ...entry, apiVersion: groupVersion(kind), time, fields });
    }
  }
  return encodeManagedFields(result);
}

function isKnownVersion(kind: ResourceKind, apiVersion: string): boolean {
  return kind.custom !== undefined || apiVersion === groupVersion(kind);
}

function replicasPath(kind: ResourceKind): PathElement[] {
  const steps = kind.custom?.scale?.specReplicas ?? ["spec", "replicas"];
  return steps.map(fieldElement);
}
