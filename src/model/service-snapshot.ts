// What every source says about one service at one moment, each fact with where it came from, when
// it was seen and how far its source can be relied on. Immutable; decisions read nothing else.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Pod } from "../kube/kinds/pod.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { ClusterSource } from "../sources/cluster-source.ts";
import type { StandingDoubt } from "../sources/probes.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import { selects } from "../sources/service-pods.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { fromEndpoints, fromSlice, type PublishedEndpoint } from "./published-endpoint.ts";

export interface ServiceSnapshot {
  readonly namespace: string;
  readonly name: string;
  /** Only clusters that have the service. */
  readonly clusters: readonly ServiceInCluster[];
}

export interface ServiceInCluster {
  readonly cluster: string;
  readonly service: Service;
  readonly serviceSeenAtMs: MonotonicMs;
  readonly services: WatchStatus;
  readonly pods: PodFacts;
  readonly published: PublishedFacts;
  /** Those of its endpoints that are in doubt, by `peerKey`; undefined where nobody probes. */
  readonly doubts: ReadonlyMap<string, StandingDoubt> | undefined;
  /** Peers that requests did not reach a moment ago, by `peerKey`; of other services as well. */
  readonly unreached: ReadonlySet<string>;
}

export interface PodFacts {
  readonly watch: WatchStatus;
  /** The pods the service selects, and those its published endpoints name. */
  readonly pods: readonly PodFact[];
  /** Of the pods its published endpoints name, the uids of those that are known to be gone. */
  readonly gone: ReadonlySet<string>;
}

export interface PodFact {
  readonly pod: Pod;
  readonly seenAtMs: MonotonicMs;
  /** Whether the service's selector matches its labels. */
  readonly selected: boolean;
}

export interface PublishedFacts {
  readonly watch: WatchStatus;
  readonly form: PublishedForm;
  readonly endpoints: readonly PublishedEndpoint[];
}

/** What of a cluster source a snapshot is made from. */
export type SnapshotSource = Pick<
  ClusterSource,
  "cluster" | "service" | "pod" | "podsOf" | "departedAt" | "publishedOf" | "seenAtMs" | "watch"
>;

/** What endpoints and requests say themselves, beside what clusters say of them. */
export interface Evidence {
  /** By cluster and `peerKey`, the endpoints of the service that are in doubt. */
  readonly doubts: ReadonlyMap<string, ReadonlyMap<string, StandingDoubt>>;
  /** Peers that requests did not reach, by `peerKey`; undefined where no proxy says so. */
  readonly unreached: ReadonlySet<string> | undefined;
}

export function snapshotService(
  sources: readonly SnapshotSource[],
  namespace: string,
  name: string,
  evidence?: Evidence,
): ServiceSnapshot {
  const clusters = sources.flatMap((source) => {
    const service = source.service(namespace, name);
    if (service === undefined) return [];
    return [serviceInCluster(source, service, evidence)];
  });
  return { namespace, name, clusters };
}

const noDoubts: ReadonlyMap<string, StandingDoubt> = new Map();
const noneUnreached: ReadonlySet<string> = new Set();

function serviceInCluster(
  source: SnapshotSource,
  service: Service,
  evidence: Evidence | undefined,
): ServiceInCluster {
  const published = publishedFacts(source, service);
  return {
    cluster: source.cluster,
    service,
    serviceSeenAtMs: source.seenAtMs(service),
    services: source.watch("services"),
    pods: podFacts(source, service, published.endpoints),
    published,
    doubts: evidence && (evidence.doubts.get(source.cluster) ?? noDoubts),
    unreached: evidence?.unreached ?? noneUnreached,
  };
}

function publishedFacts(source: SnapshotSource, { metadata }: Service): PublishedFacts {
  const { form, slices, endpoints } = source.publishedOf(metadata.namespace, metadata.name);
  const listed = slices.flatMap((slice) => fromSlice(slice, source.seenAtMs(slice)));
  if (endpoints !== undefined) {
    listed.push(...fromEndpoints(endpoints, source.seenAtMs(endpoints)));
  }
  return { watch: source.watch("published"), form, endpoints: listed };
}

function podFacts(
  source: SnapshotSource,
  service: Service,
  published: readonly PublishedEndpoint[],
): PodFacts {
  const watch = source.watch("pods");
  const pods = new Map<string, Pod>();
  const gone = new Set<string>();
  for (const pod of source.podsOf(service)) pods.set(pod.metadata.uid, pod);
  for (const { pod: named, seenAtMs } of published) {
    if (named === undefined || pods.has(named.uid)) continue;
    const pod = source.pod(service.metadata.namespace, named.name);
    if (pod?.metadata.uid === named.uid) pods.set(named.uid, pod);
    // The name has passed to a successor.
    else if (pod !== undefined) gone.add(named.uid);
    else if (source.departedAt(named.uid) !== undefined) gone.add(named.uid);
    else if (isProvedAbsent(watch, seenAtMs)) gone.add(named.uid);
  }
  const { selector } = service;
  const facts = [...pods.values()].map((pod) => ({
    pod,
    seenAtMs: source.seenAtMs(pod),
    selected: selects(selector, pod.metadata.labels),
  }));
  return { watch, pods: facts, gone };
}

/**
 * The pod existed before the slice that names it was seen. If the watch has since proved to show
 * everything that was true at a later moment, and does not show the pod, then it is gone.
 */
function isProvedAbsent({ currentAtMs }: WatchStatus, namedAtMs: MonotonicMs): boolean {
  return currentAtMs !== undefined && currentAtMs >= namedAtMs;
}
