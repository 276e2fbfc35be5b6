// The writes that make one twin right: created, kept in step, handed back to Kubernetes' own
// controllers, or removed with its Service. A twin that something may route to is never deleted while
// its Service exists: handing it back keeps it served. The order of the writes keeps every endpoint
// listed throughout: new slices come before a selector goes, and old ones go last.
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import { isHeadless, type Service } from "../../kube/kinds/service.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import type { SyncPlan } from "../syncing/plan-sync.ts";
import { deletion, type SyncWrite } from "../syncing/sync-write.ts";
import {
  isHandedBack,
  isKubernetesSlice,
  isTwin,
  isTwinSlice,
  leaseOf,
  originalOf,
} from "./twin-names.ts";
import { createTwin, handBackTwin, updateTwin } from "./twin-service.ts";

export interface TwinInput {
  readonly namespace: string;
  /** The twin's. */
  readonly name: string;
  /** The Service it is the twin of; undefined when the cluster does not have it. */
  readonly original: Service | undefined;
  /** False until the cluster was listed once: then an absent Service means nothing. */
  readonly isKnown: boolean;
  /** The Service is selected, and its twin has this name. */
  readonly isWanted: boolean;
  readonly target: TwinState;
  /** The slices of the Service, as its controller wrote them. */
  readonly published: readonly EndpointSlice[];
  /** `namespace/name` of the Lease by which our replicas elect their leader. */
  readonly lease: string;
  /** The writes that make the own slices list what is true. */
  readonly slicesFor: (twin: Service) => readonly SyncWrite[];
}

/** The objects with the twin's name, of any owner. */
export interface TwinState {
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

const nothing: SyncPlan = { writes: [], blocked: undefined };

export function planTwin(input: TwinInput): SyncPlan {
  const { original, isKnown, isWanted, target, name, namespace, lease } = input;
  const { service: twin, slices } = target;
  const own = slices.filter(isTwinSlice);
  if (!isKnown) return nothing;
  if (twin !== undefined && !isTwin(twin)) {
    const blocked = `Service ${namespace}/${name} exists and was not created by Lockstep`;
    return isWanted ? { writes: [], blocked } : nothing;
  }
  const keeper = twin === undefined ? undefined : leaseOf(twin);
  if (keeper !== undefined && keeper !== lease) {
    const blocked = `the replicas of the Lease ${keeper} keep ${namespace}/${name}`;
    return isWanted ? { writes: [], blocked } : nothing;
  }
  if (original === undefined) return planned([...removeService(twin), ...remove(own)]);
  if (twin !== undefined && originalOf(twin) !== original.metadata.name) {
    const blocked = `Service ${namespace}/${name} is already the twin of ${originalOf(twin) ?? "another"}`;
    return { writes: [], blocked };
  }
  if (twin === undefined)
    return planned(isWanted ? [createTwin(name, original, lease)] : remove(own));
  if (isHandedBack(twin)) return planned(handBack(input, twin, original, true));
  if (!isWanted) return planned(handBack(input, twin, original, false));
  // A cluster IP cannot be taken away or given later: as for its Service, only a new object has one.
  if (isHeadless(twin) !== isHeadless(original)) return planned(removeService(twin));
  const ownWrites = input.slicesFor(twin);
  const service = updateTwin(twin, original, lease);
  return planned([
    ...ownWrites.filter(({ type }) => type !== "delete"),
    ...(service === undefined ? [] : [service]),
    ...ownWrites.filter(({ type }) => type === "delete"),
    // While it has a selector, its controller would only write them again.
    ...(twin.selector === undefined ? leftovers(slices) : []),
  ]);
}

/**
 * The writes that give a twin back to Kubernetes: its selector, and then, when Kubernetes' slices
 * list what the own ones do, the end of the own ones.
 */
export function handBack(
  { target, published }: Pick<TwinInput, "target" | "published">,
  twin: Service,
  original: Service,
  byHand: boolean,
): readonly SyncWrite[] {
  const { selector } = original;
  // A Service that lost its selector has no controller that would serve its twin.
  if (selector === undefined) return [];
  const service = handBackTwin(twin, selector, byHand);
  const own = target.slices.filter(isTwinSlice);
  const isServed = twin.selector !== undefined && isCovered(own, target.slices, published);
  return [...(service === undefined ? [] : [service]), ...(isServed ? remove(own) : [])];
}

/**
 * Whether Kubernetes' slices of the twin list every endpoint as ready that the own slices and the
 * Service's slices both list so. One that only the own slices list may be dead for hours.
 */
export function isCovered(
  own: readonly EndpointSlice[],
  slices: readonly EndpointSlice[],
  published: readonly EndpointSlice[],
): boolean {
  const kubernetes = slices.filter(isKubernetesSlice);
  // An empty slice is written as well, so without one its controller has not been here yet.
  if (kubernetes.length === 0) return false;
  const theirs = readyIn(kubernetes);
  const listed = readyIn(published);
  return [...readyIn(own)].every((address) => !listed.has(address) || theirs.has(address));
}

export function readyIn(slices: readonly EndpointSlice[]): ReadonlySet<string> {
  const addresses = new Set<string>();
  for (const slice of slices) {
    for (const { address, ready } of listedInSlice(slice)) if (ready) addresses.add(address);
  }
  return addresses;
}

/**
 * The controllers leave their objects when the selector goes. Endpoints first: as long as they are
 * there, they are mirrored to a slice again.
 */
function leftovers(slices: readonly EndpointSlice[]): readonly SyncWrite[] {
  const left = slices.filter(isKubernetesSlice);
  const [first] = left;
  if (first === undefined) return [];
  const why = "Kubernetes wrote it for the selector that the twin had";
  const { namespace } = first.metadata;
  const name = first.metadata.labels["kubernetes.io/service-name"] ?? "";
  return [
    { type: "delete", kind: "Endpoints", namespace, name, summary: why },
    ...left.map((slice) => deletion("EndpointSlice", slice.metadata, why)),
  ];
}

function removeService(twin: Service | undefined): readonly SyncWrite[] {
  return twin === undefined
    ? []
    : [deletion("Service", twin.metadata, "its Service was deleted, or created again differently")];
}

function remove(own: readonly EndpointSlice[]): readonly SyncWrite[] {
  return own.map((slice) =>
    deletion("EndpointSlice", slice.metadata, "the twin is gone, or Kubernetes serves it"),
  );
}

function planned(writes: readonly SyncWrite[]): SyncPlan {
  return writes.length === 0 ? nothing : { writes, blocked: undefined };
}
