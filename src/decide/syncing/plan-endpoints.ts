// The Endpoints object of a copied service, for an access cluster or a consumer without EndpointSlices.
// It holds the addresses of all clusters; an annotation says which of them belong to which cluster, so
// that those of a cluster that is not known stay. It has the label that keeps Kubernetes from mirroring
// it to slices.

import { toMicroTime, type WallMs } from "../../environment/clock.ts";
import { counted } from "../../environment/counted.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../../kube/kinds/endpoints.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { listedInEndpoints } from "../../model/published-endpoint.ts";
import { compareText } from "../compare-text.ts";
import {
  type CopyNames,
  originTimeAnnotation,
  ownedLabels,
  ownedSliceLabels,
} from "./copy-names.ts";
import type { ServiceOffer } from "./service-offer.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";
import type { SyncedEndpoint } from "./synced-endpoint.ts";

/** How endpoints are written to the access cluster. */
export const copyForms = ["slices", "endpoints", "both"] as const;
export type CopyForm = (typeof copyForms)[number];

/** As Kubernetes' own controller: more addresses in one object would load every watcher of it. */
export const maxEndpointsAddresses = 1_000;

const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

/** `{"lab-1":["10.1.0.1"]}` */
const sourcesAnnotation = "lockstep.dev/source-addresses";

export interface EndpointsInput {
  readonly namespace: string;
  /** Of the Service in the access cluster. */
  readonly name: string;
  readonly names: CopyNames;
  readonly offers: readonly ServiceOffer[];
  /** Lockstep's own, or none. */
  readonly endpoints: Endpoints | undefined;
  readonly forgottenClusters: ReadonlySet<string>;
}

/** One write at most. */
export function planEndpoints(input: EndpointsInput): readonly SyncWrite[] {
  const { endpoints, namespace, name, names } = input;
  const parts = partsOf(input);
  if (parts.size === 0) {
    if (endpoints === undefined) return [];
    return [deletion("Endpoints", endpoints.metadata, "no cluster has the service any more")];
  }
  const content = contentOf(parts, endpoints);
  const changedAt = lastChange(input.offers);
  const origin = changedAt === undefined ? {} : { [originTimeAnnotation]: toMicroTime(changedAt) };
  const labels = { ...ownedLabels(names), [skipMirrorLabel]: "true" };
  const place = { kind: "Endpoints", namespace, name } as const;
  const count = [...parts.values()].reduce((sum, { length }) => sum + length, 0);
  if (endpoints === undefined) {
    const { subsets, annotations } = content;
    const metadata = { namespace, name, labels, annotations: { ...annotations, ...origin } };
    const object = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
    const summary = `${counted(count, "endpoint")} of ${[...parts.keys()].join(", ")}`;
    return [{ type: "create", ...place, object, summary }];
  }
  if (isUpToDate(endpoints, content, labels)) return [];
  const { resourceVersion } = endpoints.metadata;
  const capacity = { [overCapacityAnnotation]: null };
  const annotations = { ...capacity, ...content.annotations, ...origin };
  const metadata = { resourceVersion, labels, annotations };
  const patch = { metadata, subsets: content.subsets };
  return [
    { type: "update", ...place, patch, resourceVersion, summary: counted(count, "endpoint") },
  ];
}

/** Clusters whose addresses the object has. */
export function sourcesOf({ annotations }: Endpoints): ReadonlyMap<string, readonly string[]> {
  const sources = new Map<string, readonly string[]>();
  for (const [cluster, addresses] of Object.entries(parsed(annotations[sourcesAnnotation]))) {
    if (Array.isArray(addresses)) sources.set(cluster, addresses.map(String));
  }
  return sources;
}

/** The object as the slices that it stands for, one or more for each cluster. */
export function slicesOfEndpoints(
  endpoints: Endpoints,
  names: CopyNames,
  service: string,
): readonly EndpointSlice[] {
  const { metadata, annotations } = endpoints;
  const listed = listedInEndpoints(endpoints);
  return [...sourcesOf(endpoints)].flatMap(([cluster, addresses]) => {
    const all = Object.entries(ownedSliceLabels(names, { service, cluster }));
    const labels = Object.fromEntries(
      all.flatMap(([label, value]) => (value === undefined ? [] : [[label, value]])),
    );
    const own = new Set(addresses);
    const empty = { metadata: { ...metadata, labels }, annotations, addressType: "IPv4" };
    const slices = listed
      .filter(({ address }) => own.has(address))
      .map(({ addressType, address, ports, ...endpoint }) => {
        const held = [{ addresses: [address], ...endpoint }];
        return { ...empty, addressType, ports, endpoints: held };
      });
    return slices.length === 0 ? [{ ...empty, ports: [], endpoints: [] }] : slices;
  });
}

/** By cluster that offers the service, or may, its endpoints. */
function partsOf({ offers, endpoints, forgottenClusters }: EndpointsInput) {
  const parts = new Map<string, readonly SyncedEndpoint[]>();
  const present =
    endpoints === undefined ? new Map<string, readonly string[]>() : sourcesOf(endpoints);
  const listed = endpoints === undefined ? [] : listedInEndpoints(endpoints);
  for (const offer of offers) {
    const { cluster, isKnown, service, isRemembered } = offer;
    if (service !== undefined || isRemembered === true) {
      parts.set(cluster, offer.endpoints.filter(isListable));
    } else if (!isKnown && present.has(cluster) && !forgottenClusters.has(cluster)) {
      const own = new Set(present.get(cluster));
      parts.set(
        cluster,
        listed.filter(({ address }) => own.has(address)),
      );
    }
  }
  return parts;
}

interface Content {
  readonly subsets: readonly RawRecord[];
  readonly annotations: Readonly<Record<string, string>>;
}

interface Placed {
  readonly cluster: string;
  readonly endpoint: SyncedEndpoint;
}

function contentOf(
  parts: ReadonlyMap<string, readonly SyncedEndpoint[]>,
  present: Endpoints | undefined,
): Content {
  const all = new Map<string, Placed>();
  for (const [cluster, endpoints] of parts) {
    for (const endpoint of endpoints) {
      const key = `${endpoint.address} ${portsKey(endpoint)}`;
      const rival = all.get(key);
      if (rival === undefined || (endpoint.ready && !rival.endpoint.ready)) {
        all.set(key, { cluster, endpoint });
      }
    }
  }
  const before = new Set(present === undefined ? [] : listedInEndpoints(present).map(addressOf));
  const placed = bounded([...all.values()], before);
  const addresses = Object.fromEntries(
    [...parts.keys()].map((cluster) => {
      const own = placed.filter((one) => one.cluster === cluster);
      return [cluster, [...new Set(own.map(({ endpoint }) => endpoint.address))].sort(compareText)];
    }),
  );
  const isCut = placed.length < all.size;
  return {
    subsets: subsetsOf(placed.map(({ endpoint }) => endpoint)),
    annotations: {
      [sourcesAnnotation]: JSON.stringify(addresses),
      ...(isCut ? { [overCapacityAnnotation]: "truncated" } : {}),
    },
  };
}

/** Endpoints has no conditions: one that terminates and should get no requests is left out. */
function isListable({ addressType, ready, serving, terminating }: SyncedEndpoint): boolean {
  return addressType !== "FQDN" && (ready || (serving && !terminating));
}

/**
 * Ready ones come first. Each cluster has a share by its number of endpoints, and those that are
 * listed already stay.
 */
function bounded(placed: readonly Placed[], before: ReadonlySet<string>): readonly Placed[] {
  if (placed.length <= maxEndpointsAddresses) return placed;
  const ready = placed.filter(({ endpoint }) => endpoint.ready);
  const taken = share(ready, maxEndpointsAddresses, before);
  const others = placed.filter(({ endpoint }) => !endpoint.ready);
  return [...taken, ...share(others, maxEndpointsAddresses - taken.length, before)];
}

function share(
  placed: readonly Placed[],
  room: number,
  before: ReadonlySet<string>,
): readonly Placed[] {
  if (placed.length <= room) return placed;
  const byCluster = new Map<string, Placed[]>();
  for (const one of placed) {
    const own = byCluster.get(one.cluster);
    if (own === undefined) byCluster.set(one.cluster, [one]);
    else own.push(one);
  }
  const isNew = ({ endpoint }: Placed) => Number(!before.has(endpoint.address));
  const taken: Placed[] = [];
  const rest: Placed[] = [];
  for (const own of byCluster.values()) {
    own.sort((a, b) => isNew(a) - isNew(b) || compareEndpoints(a.endpoint, b.endpoint));
    const quota = Math.floor((room * own.length) / placed.length);
    taken.push(...own.slice(0, quota));
    rest.push(...own.slice(quota));
  }
  rest.sort((a, b) => isNew(a) - isNew(b) || compareEndpoints(a.endpoint, b.endpoint));
  return [...taken, ...rest.slice(0, room - taken.length)];
}

/** As the API server packs them: one subset for each list of ports, all sorted. */
function subsetsOf(endpoints: readonly SyncedEndpoint[]): readonly RawRecord[] {
  const groups = new Map<string, SyncedEndpoint[]>();
  for (const endpoint of endpoints.toSorted(compareEndpoints)) {
    const key = portsKey(endpoint);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [endpoint]);
    else group.push(endpoint);
  }
  return [...groups].sort(([a], [b]) => compareText(a, b)).map(([, group]) => subsetOf(group));
}

function subsetOf(group: readonly SyncedEndpoint[]): RawRecord {
  const ready = group.filter((one) => one.ready).map(rawAddress);
  const notReady = group.filter((one) => !one.ready).map(rawAddress);
  const ports = sortedPorts(group[0]).map(({ name, port, protocol, appProtocol }) => ({
    ...(name === "" ? {} : { name }),
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
  return {
    ...(ready.length === 0 ? {} : { addresses: ready }),
    ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

function rawAddress({ address, hostname, nodeName, targetRef }: SyncedEndpoint): RawRecord {
  const { kind, namespace, name, uid } = targetRef ?? {};
  const target = { kind, namespace, name, ...(uid === undefined ? {} : { uid }) };
  return {
    ip: address,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef: target }),
  };
}

function isUpToDate(
  present: Endpoints,
  content: Content,
  labels: Readonly<Record<string, string>>,
): boolean {
  const { metadata, annotations } = present;
  const listed = listedInEndpoints(present);
  const marks = [sourcesAnnotation, overCapacityAnnotation];
  return (
    Object.entries(labels).every(([label, value]) => metadata.labels[label] === value) &&
    marks.every((mark) => annotations[mark] === content.annotations[mark]) &&
    JSON.stringify(subsetsOf(listed)) === JSON.stringify(content.subsets)
  );
}

function sortedPorts(endpoint: SyncedEndpoint | undefined) {
  // Endpoints cannot say "every port".
  const ports = (endpoint?.ports ?? []).filter(({ port }) => port !== undefined && port !== 0);
  return ports.toSorted((a, b) => compareText(portKey(a), portKey(b)));
}

function portsKey(endpoint: SyncedEndpoint): string {
  return sortedPorts(endpoint).map(portKey).join(" ");
}

function portKey({ name, port, protocol, appProtocol }: SyncedEndpoint["ports"][number]): string {
  return `${name}:${port}/${protocol}:${appProtocol ?? ""}`;
}

function compareEndpoints(a: SyncedEndpoint, b: SyncedEndpoint): number {
  return compareText(a.address, b.address) || compareText(portsKey(a), portsKey(b));
}

function addressOf({ address }: SyncedEndpoint): string {
  return address;
}

/** Of the newest change; written only together with one. */
function lastChange(offers: readonly ServiceOffer[]): WallMs | undefined {
  const times = offers.flatMap(({ changedAt }) => (changedAt === undefined ? [] : [changedAt]));
  return times.toSorted((a, b) => b.seenAtMs - a.seenAtMs)[0]?.origin;
}

function parsed(text: string | undefined): RawRecord {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isRecord(value) ? value : {};
  } catch {
    // Another program wrote it; the next write puts it right.
    return {};
  }
}
