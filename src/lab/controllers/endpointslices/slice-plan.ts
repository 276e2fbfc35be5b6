// The fewest writes that make a service's slices hold what they should, as a pure function: slices
// are changed in place, endpoints stay in the slice they are in, new ones go into slices that are
// written anyway, then into the fullest that has room, and only then into new slices.

import { sameJson } from "../../../kube/kinds/same-json.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { DeepHash } from "../deep-hash.ts";
import { sameStrings } from "../memberships.ts";
import {
  isOwnedBy,
  isPlaceholder,
  newSlice,
  type PublishedSlice,
  revisedSlice,
  unreserved,
  type WantedSlice,
} from "./published-slice.ts";
import type { AddressType, Endpoint, SliceGroup } from "./slice-groups.ts";
import { type Hinting, unhinted } from "./slice-hints.ts";
import { portsKey, slicePortsInOrder } from "./slice-ports.ts";

export interface SlicePlan {
  readonly create: readonly WantedSlice[];
  readonly update: readonly WantedSlice[];
  readonly remove: readonly PublishedSlice[];
}

/** Counts of a plan, for metrics. */
export interface SliceCounts {
  readonly added: number;
  readonly removed: number;
  /** For each set of ports its endpoints and, once the plan is carried out, its slices. */
  readonly groups: readonly { readonly endpoints: number; readonly slices: number }[];
}

export interface SlicePlanInput {
  readonly service: Service;
  readonly addressType: AddressType;
  /** All slices of the service and of that family. */
  readonly existing: readonly PublishedSlice[];
  readonly groups: readonly SliceGroup[];
  readonly maxEndpoints: number;
  /** Sorts ports. */
  readonly hash: DeepHash;
  /** The hints of the endpoints for zones and nodes. */
  readonly hinting: Hinting;
}

export function planSlices(input: SlicePlanInput): SlicePlan & { readonly counts: SliceCounts } {
  const { service, addressType, groups, hash, hinting } = input;
  const existing = input.existing.map((slice) => ({
    ...slice,
    ports: slicePortsInOrder(slice.ports, hash),
  }));
  const own = existing.filter((slice) => isOwnedBy(slice, service));
  const plans = groups.map((group) => {
    const key = portsKey(group.ports);
    return planGroup(
      input,
      group,
      own.filter(({ ports }) => portsKey(ports) === key),
    );
  });
  const wantedKeys = new Set(groups.map(({ ports }) => portsKey(ports)));
  const create = plans.flatMap((plan) => plan.create);
  const remove = [
    ...existing.filter((slice) => !isOwnedBy(slice, service)),
    ...plans.flatMap((plan) => plan.remove),
    ...own.filter(({ ports }) => !wantedKeys.has(portsKey(ports))),
  ];
  const counts = countsOf(plans);
  // A service without endpoints keeps one empty slice, so that there is something to watch.
  if (remove.length === existing.length && create.length === 0) {
    const withPlaceholder = { ...counts, groups: [...counts.groups, { endpoints: 0, slices: 1 }] };
    const [only] = remove;
    const isThere = remove.length === 1 && only !== undefined && isPlaceholder(only, service);
    if (!isThere) create.push(newSlice(addressType, [], []));
    const hinted = hinting({ create, update: [], unchanged: [] });
    const plan = reuse({ ...hinted, remove: isThere ? [] : remove }, service);
    return { ...plan, counts: withPlaceholder };
  }
  const unchanged = plans.flatMap((plan) => plan.unchanged);
  const hinted = hinting({ create, update: plans.flatMap((plan) => plan.update), unchanged });
  return { ...reuse({ ...hinted, remove }, service), counts };
}

/** The plan of one set of ports, and what it comes to. */
interface GroupPlan extends SlicePlan {
  readonly unchanged: readonly PublishedSlice[];
  readonly added: number;
  readonly removed: number;
  readonly endpoints: number;
  readonly slices: number;
}

/** A slice while it is being filled. */
type Filling = WantedSlice & { readonly endpoints: Endpoint[] };

function countsOf(plans: readonly GroupPlan[]): SliceCounts {
  return {
    added: plans.reduce((sum, plan) => sum + plan.added, 0),
    removed: plans.reduce((sum, plan) => sum + plan.removed, 0),
    groups: plans.map(({ endpoints, slices }) => ({ endpoints, slices })),
  };
}

function planGroup(
  { service, addressType, maxEndpoints }: SlicePlanInput,
  { ports, endpoints }: SliceGroup,
  slices: readonly PublishedSlice[],
): GroupPlan {
  const missing = new Map(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]));
  const all = missing.size;
  const remove: PublishedSlice[] = [];
  const update: Filling[] = [];
  const create: Filling[] = [];
  let unchanged: PublishedSlice[] = [];
  let removed = 0;
  for (const slice of slices) {
    const kept = keepWanted(slice, missing);
    removed += slice.endpoints.length - kept.length;
    const isRelabelled = !areLabelsRight(slice, service);
    if (holdTheSame(kept, slice.endpoints)) {
      if (isRelabelled)
        update.push(filling(revisedSlice(slice, slice.endpoints, { isRelabelled })));
      else unchanged.push(slice);
    } else if (kept.length === 0) remove.push(slice);
    else update.push(filling(revisedSlice(slice, kept, { isRelabelled: true })));
  }
  const added = missing.size;
  const fill = (list: Endpoint[]): void => {
    for (const [identity, endpoint] of missing) {
      if (list.length >= maxEndpoints) return;
      list.push(endpoint);
      missing.delete(identity);
    }
  };
  update.sort((one, other) => other.endpoints.length - one.endpoints.length);
  for (const slice of update) fill(slice.endpoints);
  while (missing.size > 0) {
    const roomy = fullestWithRoom(unchanged, missing.size, maxEndpoints);
    unchanged = unchanged.filter((slice) => slice !== roomy);
    const slice = filling(
      roomy === undefined ? newSlice(addressType, ports, []) : revisedSlice(roomy, roomy.endpoints),
    );
    fill(slice.endpoints);
    (roomy === undefined ? create : update).push(slice);
  }
  const left = slices.length + create.length - remove.length;
  return { create, update, remove, unchanged, added, removed, endpoints: all, slices: left };
}

function filling(slice: WantedSlice): Filling {
  return { ...slice, endpoints: [...slice.endpoints] };
}

/** Ignores hints: they are computed after everything else. */
function holdTheSame(wanted: readonly Endpoint[], published: readonly Endpoint[]): boolean {
  return sameJson(wanted, published.map(unhinted));
}

/** The endpoints of a slice that are still wanted, as wanted; takes them out of `missing`. */
function keepWanted(slice: PublishedSlice, missing: Map<string, Endpoint>): readonly Endpoint[] {
  const kept: Endpoint[] = [];
  for (const endpoint of slice.endpoints) {
    const identity = identityOf(endpoint);
    const wanted = missing.get(identity);
    if (wanted === undefined) continue;
    missing.delete(identity);
    kept.push(wanted);
  }
  return kept;
}

/** Of slices in which all that is missing fits, the one that is fullest then. */
function fullestWithRoom(
  slices: readonly PublishedSlice[],
  missing: number,
  maxEndpoints: number,
): PublishedSlice | undefined {
  if (missing >= maxEndpoints) return undefined;
  let best: PublishedSlice | undefined;
  for (const slice of slices) {
    if (slice.endpoints.length + missing > maxEndpoints) continue;
    if (best === undefined || slice.endpoints.length > best.endpoints.length) best = slice;
  }
  return best;
}

/** A slice that would go takes over what would otherwise be created: one write instead of two. */
function reuse({ create, update, remove }: SlicePlan, service: Service): SlicePlan {
  const toCreate = [...create];
  const toRemove: PublishedSlice[] = [];
  const toUpdate = [...update];
  for (const slice of remove) {
    const wanted = toCreate.at(-1);
    if (wanted?.addressType !== slice.addressType || !isOwnedBy(slice, service)) {
      toRemove.push(slice);
      continue;
    }
    toCreate.pop();
    toUpdate.push({ ...wanted, object: slice.object, isReplacement: true });
  }
  return { create: toCreate, update: toUpdate, remove: toRemove };
}

function areLabelsRight({ object }: PublishedSlice, { metadata }: Service): boolean {
  return sameStrings(unreserved(object.metadata.labels), unreserved(metadata.labels));
}

/** Which endpoint it is, whatever its state. */
function identityOf({ addresses, hostname = "", targetRef }: Endpoint): string {
  const { namespace, name } = targetRef;
  return `${[...addresses].sort().join()} ${hostname} ${namespace}/${name}`;
}
