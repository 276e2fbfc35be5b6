// The offers of all business clusters for one service, decided together: an endpoint that terminates
// is of use only if no other cluster has a better one, and so is one of a cluster that is silent.
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { ServiceExport } from "../../kube/kinds/service-export.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import {
  type Evidence,
  type SnapshotSource,
  snapshotService,
} from "../../model/service-snapshot.ts";
import type { Doubt } from "../../sources/probes.ts";
import { followsSlices } from "../truth/service-settings.ts";
import { defaultUnreachable } from "../truth/truth-policy.ts";
import { isCopy, isOwnedSlice, sourceClusterOf } from "./copy-names.ts";
import { type OfferTime, offerVersion, type ServiceOffer } from "./service-offer.ts";
import { isCopyable } from "./service-selection.ts";
import type { SyncPolicy } from "./sync-policy.ts";
import {
  decideEndpoints,
  listedByAddress,
  listedKey,
  type SyncedEndpoint,
} from "./synced-endpoint.ts";

export interface OfferSource extends SnapshotSource {
  /**
   * Whether the service has a ServiceExport; false where these are not watched, undefined while it
   * is not known.
   */
  isExported(namespace: string, name: string): boolean | undefined;
  /** That ServiceExport; undefined for a service without one. */
  exportOf(namespace: string, name: string): ServiceExport | undefined;
  /** The zone of a node, where it is known. */
  zoneOf(node: string): string | undefined;
  /** When the last event about the service came; undefined before. */
  lastEventAtMs(namespace: string, name: string): MonotonicMs | undefined;
}

export interface OffersInput {
  readonly sources: readonly OfferSource[];
  readonly namespace: string;
  readonly name: string;
  readonly policy: SyncPolicy;
  /** The slices of the copy in the target, of any owner. */
  readonly slices: readonly EndpointSlice[];
  /** By port, the results of probes; absent without probes. */
  readonly evidence?: (port: string) => Evidence;
  /** Converts monotonic time to wall time. */
  readonly wallOf: (instant: MonotonicMs) => WallMs;
}

export interface ServiceOffers {
  /** One for each source, in the same order. */
  readonly offers: readonly ServiceOffer[];
  /** By port, the endpoints in doubt. */
  readonly probeRequests: ReadonlyMap<string, readonly Doubt[]>;
}

export function serviceOffers(input: OffersInput): ServiceOffers {
  const { sources, namespace, name, policy } = input;
  const offering = sources.filter((source) => offeredService(input, source) !== undefined);
  const copies = rememberedCopies(input);
  const snapshot = snapshotService(offering.map(withoutCopies), namespace, name);
  const listed = new Map(
    offering.map((source) => {
      const objects = withoutCopies(source).publishedOf(namespace, name);
      return [source.cluster, listedByAddress(objects)] as const;
    }),
  );
  const byName = new Map(sources.map((source) => [source.cluster, source]));
  const { evidence } = input;
  const { endpoints, probeRequests } = decideEndpoints({
    snapshot,
    copies,
    policy: policy.truth,
    isUnreachable: (cluster) => byName.get(cluster)?.isUnreachable === true,
    ...(evidence === undefined ? {} : { evidence }),
    detailsOf: ({ cluster, address, podUid, podName }) => {
      const source = byName.get(cluster);
      const found = podName === undefined ? undefined : source?.pod(namespace, podName);
      const pod = found?.metadata.uid === podUid ? found : undefined;
      const ofSource = listed.get(cluster);
      const known =
        ofSource?.get(listedKey(address, podUid)) ?? ofSource?.get(listedKey(address, undefined));
      const remembered = copies.get(cluster)?.find((one) => one.address === address);
      const node = pod?.nodeName ?? known?.nodeName;
      const zone = node === undefined ? undefined : source?.zoneOf(node);
      return { pod, listed: known ?? remembered, zone };
    },
  });
  return {
    probeRequests,
    offers: sources.map((source) => offerOf(input, source, endpoints.get(source.cluster))),
  };
}

function offerOf(
  input: OffersInput,
  source: OfferSource,
  endpoints: readonly SyncedEndpoint[] | undefined,
): ServiceOffer {
  const { cluster, isListed } = source;
  const service = offeredService(input, source);
  const nothing = { service: undefined, changedAt: undefined, version: undefined };
  if (service !== undefined) {
    const offered = endpoints ?? [];
    const found = source.exportOf(input.namespace, input.name);
    const version = offerVersion(service, offered, found);
    const changedAt = lastChange(input, source, service);
    const serviceExport = found === undefined ? {} : { serviceExport: found };
    const offer = { cluster, isKnown: true, service, endpoints: offered, changedAt, version };
    return { ...offer, ...serviceExport };
  }
  if (endpoints !== undefined) {
    return { cluster, isKnown: true, isRemembered: true, endpoints, ...nothing };
  }
  const found = source.service(input.namespace, input.name);
  const isPartly = found !== undefined && !areEndpointsListed(found, source, input.policy.truth);
  const isKnown = isListed && !isPartly && !isDoubtful(input, source);
  return { cluster, isKnown, endpoints: [], ...nothing };
}

/** Undefined also where the cluster has not been listed: then no service has all its endpoints. */
function offeredService(
  { namespace, name, policy: { selection, truth } }: OffersInput,
  source: OfferSource,
): Service | undefined {
  if (!source.isListed) return undefined;
  const service = source.service(namespace, name);
  if (service === undefined || !isCopyable(service)) return undefined;
  if (!areEndpointsListed(service, source, truth)) return undefined;
  const isExported = source.isExported(namespace, name) === true;
  return selection.isSelected(service, source.cluster, isExported) ? service : undefined;
}

/** With pods alone a cluster counts as listed, but some services have no endpoints but the slices'. */
function areEndpointsListed(
  service: Service,
  source: OfferSource,
  policy: SyncPolicy["truth"],
): boolean {
  if (source.watch("published").currentAtMs !== undefined) return true;
  return service.selector !== undefined && !followsSlices(service, policy);
}

function isDoubtful(
  { namespace, name, policy: { selection } }: OffersInput,
  source: OfferSource,
): boolean {
  const service = source.service(namespace, name);
  if (service === undefined) return false;
  if (source.isExported(namespace, name) === undefined) return true;
  return selection.isDoubtful?.(service, source.cluster) === true;
}

/**
 * Of clusters that have not been listed since the start and are silent for too long. The copies are
 * all that is known of them, and a policy may say that this is too old.
 */
function rememberedCopies({
  sources,
  slices,
  policy,
}: OffersInput): ReadonlyMap<string, readonly SyncedEndpoint[]> {
  const copies = new Map<string, readonly SyncedEndpoint[]>();
  const { unreachable = defaultUnreachable, unreachableIn } = policy.truth;
  for (const { cluster, isListed, isUnreachable } of sources) {
    if (isListed || !isUnreachable) continue;
    if ((unreachableIn?.get(cluster) ?? unreachable) === "keep") continue;
    const own = slices.filter(
      (slice) => isOwnedSlice(policy.names, slice) && sourceClusterOf(slice) === cluster,
    );
    if (own.length > 0) copies.set(cluster, own.flatMap(listedInSlice));
  }
  return copies;
}

/** Copies that another Lockstep made in the source are no endpoints of its own. */
function withoutCopies(source: OfferSource): SnapshotSource {
  return {
    cluster: source.cluster,
    isListed: source.isListed,
    isUnreachable: source.isUnreachable,
    service: (namespace, name) => source.service(namespace, name),
    pod: (namespace, name) => source.pod(namespace, name),
    podsOf: (service) => source.podsOf(service),
    claimantsAt: (address, uid) => source.claimantsAt(address, uid),
    departed: (uid) => source.departed(uid),
    seenAtMs: (object) => source.seenAtMs(object),
    watch: (name) => source.watch(name),
    publishedOf: (namespace, name) => {
      const published = source.publishedOf(namespace, name);
      return { ...published, slices: published.slices.filter((slice) => !isCopy(slice)) };
    },
  };
}

type Annotated = Projected & { readonly annotations: StringMap };

/**
 * The last event counts. If it was about a published object, its writer may have said when the change
 * itself was; a pod's event comes with the change.
 */
function lastChange(
  { namespace, name, wallOf }: OffersInput,
  source: OfferSource,
  service: Service,
): OfferTime {
  const { slices, endpoints } = source.publishedOf(namespace, name);
  const published = slices.filter((slice) => !isCopy(slice));
  const objects: readonly Annotated[] =
    endpoints === undefined ? [service, ...published] : [service, ...published, endpoints];
  let seenAtMs = source.seenAtMs(service);
  let origin = triggerTime(service.annotations);
  for (const object of objects) {
    const at = source.seenAtMs(object);
    if (at < seenAtMs) continue;
    seenAtMs = at;
    origin = triggerTime(object.annotations);
  }
  const last = source.lastEventAtMs(namespace, name);
  if (last !== undefined && elapsedMs(seenAtMs, last) > 0) {
    const readAt = wallOf(last);
    return { origin: readAt, readAt, seenAtMs: last };
  }
  const readAt = wallOf(seenAtMs);
  return { origin: origin ?? readAt, readAt, seenAtMs };
}

const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** The endpoint controllers write it for joins and take it away for most leaves. */
function triggerTime(annotations: StringMap): WallMs | undefined {
  const ms = Date.parse(annotations[triggerTimeAnnotation] ?? "");
  // The source's wall clock, which is what WallMs means for an instant that came from outside.
  return Number.isNaN(ms) ? undefined : (ms as WallMs);
}
