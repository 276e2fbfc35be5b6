// The data of every source about one service at one moment, each fact with its source, its time and
// the freshness of the source. Immutable; decisions read nothing else.
import type { MonotonicMs } from "../environment/clock.ts";
import type { EndpointSlice } from "../kube/kinds/endpoint-slice.ts";
import type { Pod } from "../kube/kinds/pod.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { ClusterSource } from "../sources/cluster-source.ts";
import type { Departure } from "../sources/departed-pods.ts";
import type { EndpointId } from "../sources/endpoint-id.ts";
import type { ExternalAnswer, ExternalNames } from "../sources/external-names.ts";
import type { StandingDoubt } from "../sources/probes.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { podFacts } from "./pod-facts.ts";
import { fromEndpoints, fromSlice, type PublishedEndpoint } from "./published-endpoint.ts";
import type { RememberedEndpoint } from "./remembered-endpoint.ts";

export interface ServiceSnapshot {
  readonly namespace: string;
  readonly name: string;
  /** Where requests come in; undefined when no endpoints are taken from there. */
  readonly accessCluster?: string | undefined;
  /** Only clusters that have the service. */
  readonly clusters: readonly ServiceInCluster[];
  /** Clusters that have not been listed since the start, but are remembered; none when absent. */
  readonly unlisted?: readonly UnlistedCluster[];
  /** Clusters of which it is not known at all whether they have it; none when absent. */
  readonly silent?: readonly string[];
  /** It is the service of a ServiceImport: in clusters that do not export it, it does not count. */
  readonly isImport?: true;
}

/** A cluster of which nothing is known but what was written down before. */
export interface UnlistedCluster {
  readonly cluster: string;
  readonly isUnreachable: boolean;
  /** Those of the one port that this is about. */
  readonly remembered: readonly RememberedEndpoint[];
  readonly doubts: ReadonlyMap<EndpointId, StandingDoubt> | undefined;
  readonly unreached: ReadonlySet<EndpointId>;
}

export interface ServiceInCluster {
  readonly cluster: string;
  /** It has been silent for longer than is allowed. */
  readonly isUnreachable: boolean;
  readonly service: Service;
  readonly serviceSeenAtMs: MonotonicMs;
  readonly services: WatchStatus;
  readonly pods: PodFacts;
  readonly published: PublishedFacts;
  /** Those of its endpoints that are in doubt; undefined without probes. */
  readonly doubts: ReadonlyMap<EndpointId, StandingDoubt> | undefined;
  /** Peers that requests did not reach a moment ago; of other services as well. */
  readonly unreached: ReadonlySet<EndpointId>;
  /** Of an external name, what it resolves to; undefined before the first answer. */
  readonly external?: ExternalAnswer | undefined;
}

export interface PodFacts {
  readonly watch: WatchStatus;
  /** The pods the service selects, and those its published endpoints name. */
  readonly pods: readonly PodFact[];
  /** Of the pods its published endpoints name, by uid, those that are known to be gone. */
  readonly gone: ReadonlyMap<string, Departure>;
  /** By address, all pods that have it, where that is more or other than the one expected. */
  readonly addressClaimants: ReadonlyMap<string, readonly Pod[]>;
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
  /** More are listed than are looked at. */
  readonly isCut?: true;
}

/**
 * Of a service in one cluster. All of them are judged at every change of one, in one piece, which takes
 * some tens of milliseconds for so many.
 */
export const maxPublished = 10_000;

/** The part of a cluster source that a snapshot needs. */
export type SnapshotSource = Pick<
  ClusterSource,
  | "cluster"
  | "service"
  | "pod"
  | "podsOf"
  | "claimantsAt"
  | "departed"
  | "publishedOf"
  | "seenAtMs"
  | "watch"
  | "isListed"
  | "isUnreachable"
>;

/** The data beside that of clusters. */
export interface SnapshotContext {
  readonly evidence?: Evidence | undefined;
  /** The saved state of this port, from before this process started. */
  readonly remembered?: readonly RememberedEndpoint[] | undefined;
  readonly accessCluster?: string | undefined;
  /** The resolver of external names; none when absent. */
  readonly names?: Pick<ExternalNames, "answerOf"> | undefined;
  /** Of services for which this is false no endpoint is of use, so none is looked at. */
  readonly isAsked?: ((service: Service) => boolean) | undefined;
  /** See `ServiceSnapshot`. */
  readonly isImport?: true | undefined;
}

/** The results of probes and requests, beside the data of clusters. */
export interface Evidence {
  /** By cluster, the endpoints of the service that are in doubt. */
  readonly doubts: ReadonlyMap<string, ReadonlyMap<EndpointId, StandingDoubt>>;
  /** Peers that requests did not reach; undefined where no proxy says so. */
  readonly unreached: ReadonlySet<EndpointId> | undefined;
}

export function snapshotService(
  sources: readonly SnapshotSource[],
  namespace: string,
  name: string,
  context: SnapshotContext = {},
): ServiceSnapshot {
  const { remembered = [], accessCluster } = context;
  const clusters: ServiceInCluster[] = [];
  const unlisted: UnlistedCluster[] = [];
  const silent: string[] = [];
  for (const source of sources) {
    const known = remembered.filter(({ cluster }) => cluster === source.cluster);
    if (known.length > 0 && !source.isListed) {
      const { cluster, isUnreachable } = source;
      const own = evidenceIn(cluster, context.evidence);
      unlisted.push({ cluster, isUnreachable, remembered: known, ...own });
      continue;
    }
    const service = source.service(namespace, name);
    if (service !== undefined) clusters.push(serviceInCluster(source, service, context));
    else if (!source.isListed) silent.push(source.cluster);
  }
  const isLocal = sources.some(({ cluster }) => cluster === accessCluster);
  return {
    namespace,
    name,
    clusters,
    ...(isLocal ? { accessCluster } : {}),
    ...(unlisted.length === 0 ? {} : { unlisted }),
    ...(silent.length === 0 ? {} : { silent }),
    ...(context.isImport === true && { isImport: true }),
  };
}

/** Of a service that no cluster has. */
export function describeAbsence({
  namespace,
  name,
  isImport,
}: Pick<ServiceSnapshot, "namespace" | "name" | "isImport">): string {
  const key = `${namespace}/${name}`;
  return isImport === true
    ? `no cluster exports the service ${key}`
    : `service ${key} does not exist in any cluster`;
}

const noDoubts: ReadonlyMap<EndpointId, StandingDoubt> = new Map();
const noneUnreached: ReadonlySet<EndpointId> = new Set();

function serviceInCluster(
  source: SnapshotSource,
  service: Service,
  { evidence, names, isAsked = () => true }: SnapshotContext,
): ServiceInCluster {
  const isOfUse = isAsked(service);
  const published = publishedFacts(source, service, isOfUse ? maxPublished : 0);
  return {
    cluster: source.cluster,
    isUnreachable: source.isUnreachable,
    service,
    serviceSeenAtMs: source.seenAtMs(service),
    services: source.watch("services"),
    pods: isOfUse ? podFacts(source, service, published.endpoints) : noPods(source),
    published,
    ...evidenceIn(source.cluster, evidence),
    ...(service.type === "ExternalName" && {
      external: names?.answerOf(service.externalName ?? "", service.metadata.namespace),
    }),
  };
}

function evidenceIn(
  cluster: string,
  evidence: Evidence | undefined,
): Pick<ServiceInCluster, "doubts" | "unreached"> {
  return {
    doubts: evidence && (evidence.doubts.get(cluster) ?? noDoubts),
    unreached: evidence?.unreached ?? noneUnreached,
  };
}

/** So that the same ones are cut off at every look. */
function oldestFirst(slices: readonly EndpointSlice[]): readonly EndpointSlice[] {
  const ageOf = ({ metadata }: EndpointSlice) => metadata.creationTimestamp ?? 0;
  return [...slices].sort(
    (a, b) => ageOf(a) - ageOf(b) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
}

function noPods(source: SnapshotSource): PodFacts {
  return { watch: source.watch("pods"), pods: [], gone: new Map(), addressClaimants: new Map() };
}

function publishedFacts(
  source: SnapshotSource,
  { metadata }: Service,
  most: number,
): PublishedFacts {
  const { form, slices, endpoints } = source.publishedOf(metadata.namespace, metadata.name);
  const watch = source.watch("published");
  const listed: PublishedEndpoint[] = [];
  if (most === 0) return { watch, form, endpoints: listed };
  const count = slices.reduce((sum, slice) => sum + slice.endpoints.length, 0);
  for (const slice of count > most ? oldestFirst(slices) : slices) {
    if (listed.length > most) break;
    for (const one of fromSlice(slice, source.seenAtMs(slice))) listed.push(one);
  }
  if (endpoints !== undefined) {
    for (const one of fromEndpoints(endpoints, source.seenAtMs(endpoints))) listed.push(one);
  }
  if (listed.length <= most) return { watch, form, endpoints: listed };
  return { watch, form, endpoints: listed.slice(0, most), isCut: true };
}
