// The offer of one business cluster for one service: whether the cluster is known at all, whether
// it offers the service for syncing, with which endpoints, and since when.
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { ClusterSource } from "../../sources/cluster-source.ts";
import type { PublishedObjects } from "../../sources/published-watch.ts";
import { isDoubtfullyUnselected, isSelected, type SyncPolicy } from "./sync-policy.ts";
import { publishedToSync, type SyncedEndpoint } from "./synced-endpoint.ts";
import { isOwnedSlice } from "./synced-names.ts";

export interface ServiceOffer {
  readonly cluster: string;
  /**
   * False until the cluster has once been listed: then its silence means nothing, and what was
   * synced from it stays. A cluster lost later is still known by what it said last. False too for a
   * service that is perhaps unselected by mistake.
   */
  readonly isKnown: boolean;
  /** Undefined when the cluster does not have the service or does not want it synced. */
  readonly service: Service | undefined;
  readonly endpoints: readonly SyncedEndpoint[];
  /** When what is offered last changed, as well as is known. */
  readonly changedAt: OfferTime | undefined;
  /** Names the versions of the objects it was made from; undefined with the service. */
  readonly version: string | undefined;
}

export interface OfferTime {
  /** By the source's own word where it gave one, else when we saw it. */
  readonly origin: WallMs;
  readonly seenAtMs: MonotonicMs;
}

export type OfferSource = Pick<
  ClusterSource,
  "cluster" | "service" | "publishedOf" | "seenAtMs" | "watch"
>;

/** `wallOf` converts monotonic time to wall time. */
export function serviceOffer(
  source: OfferSource,
  place: { readonly namespace: string; readonly name: string },
  policy: SyncPolicy,
  wallOf: (instant: MonotonicMs) => WallMs,
): ServiceOffer {
  const { cluster } = source;
  const service = source.service(place.namespace, place.name);
  const isKnown = isSourceKnown(source) && !(service && isDoubtfullyUnselected(service, policy));
  if (!isKnown || service === undefined || !isSelected(service, policy)) {
    const unknown = { service: undefined, changedAt: undefined, version: undefined };
    return { cluster, isKnown, endpoints: [], ...unknown };
  }
  const published = source.publishedOf(place.namespace, place.name);
  const objects = [service, ...publishedObjects(published)] as const;
  return {
    cluster,
    isKnown,
    service,
    endpoints: publishedToSync(published),
    changedAt: lastChange(source, objects, wallOf),
    version: objects.map(versionOf).sort().join(" "),
  };
}

/** Services and endpoints both: with the services alone, every one of them would look empty. */
export function isSourceKnown(source: Pick<OfferSource, "watch">): boolean {
  return (["services", "published"] as const).every(
    (watch) => source.watch(watch).currentAtMs !== undefined,
  );
}

type Annotated = Projected & { readonly annotations: StringMap };

function publishedObjects({ slices, endpoints }: PublishedObjects): readonly Annotated[] {
  const published = slices.filter((slice) => !isOwnedSlice(slice));
  return endpoints === undefined ? published : [...published, endpoints];
}

function lastChange(
  source: OfferSource,
  objects: readonly [Annotated, ...Annotated[]],
  wallOf: (instant: MonotonicMs) => WallMs,
): OfferTime {
  const times = objects.map((object) => {
    const seenAtMs = source.seenAtMs(object);
    return { origin: triggerTime(object.annotations) ?? wallOf(seenAtMs), seenAtMs };
  });
  return times.reduce((last, time) => (time.seenAtMs > last.seenAtMs ? time : last));
}

function versionOf({ metadata }: Projected): string {
  return `${metadata.name}@${metadata.resourceVersion}`;
}

const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** The endpoint controllers write it for joins and take it away for most leaves. */
function triggerTime(annotations: StringMap): WallMs | undefined {
  const ms = Date.parse(annotations[triggerTimeAnnotation] ?? "");
  // The source's wall clock, which is what WallMs means for an instant that came from outside.
  return Number.isNaN(ms) ? undefined : (ms as WallMs);
}
