// The writes that make the slices copied from an Endpoints object right, as a pure function: one
// slice for each family and set of ports. A slice that differs is written again, and one that is not
// needed is reused for another.
import { isRecord, listAt, optionalString, type RawRecord } from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { sameJson } from "../../../kube/kinds/same-json.ts";
import { triggerTimeAnnotation } from "../endpoints/published.ts";
import { managedByLabel, readSlice, serviceNameLabel } from "../endpointslices/published-slice.ts";
import { sameStrings } from "../memberships.ts";
import { ownedBy, typeOf, type WholeObject, wholeEndpoints, wholeSlices } from "../whole-object.ts";
import { groupKey, type MirroredEndpoint, type MirroredGroup } from "./mirrored-groups.ts";

/** endpointslicemirroring_controller.go ControllerName. */
export const mirroringController = "endpointslicemirroring-controller.k8s.io";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Annotations of an Endpoints object without a meaning for a slice. */
const ownAnnotations = new Set<string>([triggerTimeAnnotation, lastAppliedAnnotation]);

export interface MirrorPlan {
  readonly create: readonly RawRecord[];
  readonly update: readonly { readonly object: WholeObject; readonly body: RawRecord }[];
  readonly remove: readonly WholeObject[];
  /** Slices that are right as they are. */
  readonly unchanged: readonly WholeObject[];
}

/** `existing` are all slices that were copied from the object. */
export function planMirror(
  endpoints: WholeObject,
  groups: readonly MirroredGroup[],
  existing: readonly WholeObject[],
): MirrorPlan {
  const published = new Map<string, WholeObject[]>();
  for (const slice of existing) {
    const { addressType, ports } = readSlice(slice);
    const key = groupKey(addressType, ports);
    published.set(key, [...(published.get(key) ?? []), slice]);
  }
  const missing: MirroredGroup[] = [];
  const update: { object: WholeObject; body: RawRecord }[] = [];
  const unused: WholeObject[] = [];
  const unchanged: WholeObject[] = [];
  for (const group of groups) {
    const key = groupKey(group.addressType, group.ports);
    const [first, ...others] = published.get(key) ?? [];
    published.delete(key);
    unused.push(...others);
    if (first === undefined) missing.push(group);
    else if (isRight(first, group, endpoints)) unchanged.push(first);
    else {
      const { name } = first.metadata;
      update.push({ object: first, body: sliceOf(endpoints, group, { name }) });
    }
  }
  unused.push(...[...published.values()].flat());
  return { ...recycled(endpoints, missing, update, unused), unchanged };
}

/** A slice cannot change its family, but all else. */
function recycled(
  endpoints: WholeObject,
  missing: readonly MirroredGroup[],
  update: MirrorPlan["update"],
  unused: readonly WholeObject[],
): Omit<MirrorPlan, "unchanged"> {
  const create: RawRecord[] = [];
  const written = [...update];
  const left = [...unused];
  for (const group of missing) {
    const at = left.findIndex(
      ({ raw }) => optionalString(raw, "addressType") === group.addressType,
    );
    const [object] = at === -1 ? [] : left.splice(at, 1);
    // A new slice has the prefix as generateName, besides its name.
    const generateName = `${endpoints.metadata.name}-`;
    if (object === undefined) create.push(sliceOf(endpoints, group, { generateName }));
    else {
      const { name } = object.metadata;
      written.push({ object, body: sliceOf(endpoints, group, { generateName, name }) });
    }
  }
  return { create, update: written, remove: left };
}

/** Without a version: whatever the slice has become meanwhile, it is overwritten. */
function sliceOf(
  endpoints: WholeObject,
  group: MirroredGroup,
  names: { readonly generateName?: string; readonly name?: string },
): RawRecord {
  const { metadata } = endpoints;
  return {
    ...typeOf(wholeSlices),
    metadata: {
      ...names,
      namespace: metadata.namespace,
      labels: {
        ...metadata.labels,
        [serviceNameLabel]: metadata.name,
        [managedByLabel]: mirroringController,
      },
      annotations: mirroredAnnotations(endpoints),
      ownerReferences: [ownedBy(wholeEndpoints, metadata)],
    },
    addressType: group.addressType,
    ports: group.ports,
    endpoints: group.endpoints,
  };
}

function isRight(slice: WholeObject, group: MirroredGroup, endpoints: WholeObject): boolean {
  const { [serviceNameLabel]: _name, [managedByLabel]: _by, ...labels } = slice.metadata.labels;
  return (
    sameStrings(labels, endpoints.metadata.labels) &&
    sameStrings(slice.annotations, mirroredAnnotations(endpoints)) &&
    !isOfPredecessor(slice, endpoints) &&
    holdsTheSame(listAt(slice.raw, "endpoints").filter(isRecord), group.endpoints)
  );
}

function mirroredAnnotations({ annotations }: WholeObject): StringMap {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => !ownAnnotations.has(name)),
  );
}

/** Copied from an object of the same name that is gone. */
function isOfPredecessor({ owners }: WholeObject, { metadata }: WholeObject): boolean {
  return owners.some(
    ({ kind, name, uid }) => kind === "Endpoints" && name === metadata.name && uid !== metadata.uid,
  );
}

/** In whatever order; the version of what an address stands for does not count. */
function holdsTheSame(
  published: readonly RawRecord[],
  wanted: readonly MirroredEndpoint[],
): boolean {
  const comparable = (endpoints: readonly object[]) =>
    endpoints.map((endpoint) => withoutVersion({ ...endpoint })).sort(byAddress);
  return sameJson(comparable(published), comparable(wanted));
}

function withoutVersion(endpoint: RawRecord): RawRecord {
  const target = endpoint["targetRef"];
  if (!isRecord(target)) return endpoint;
  const { resourceVersion: _, ...targetRef } = target;
  return { ...endpoint, targetRef };
}

function byAddress(one: RawRecord, other: RawRecord): number {
  const [left, right] = [JSON.stringify(one["addresses"]), JSON.stringify(other["addresses"])];
  return left < right ? -1 : left > right ? 1 : 0;
}
