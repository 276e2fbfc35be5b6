// The writes that make the slices of one service and one source cluster hold what the cluster offers.
// Endpoints are put in before slices are taken away, so that one that moves is never missing.

import { toMicroTime } from "../../environment/clock.ts";
import { counted } from "../../environment/counted.ts";
import type { EndpointSlice, SlicePort } from "../../kube/kinds/endpoint-slice.ts";
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Service } from "../../kube/kinds/service.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import {
  type CopyNames,
  originTimeAnnotation,
  ownedSliceLabels,
  type SliceLabels,
  sliceName,
} from "./copy-names.ts";
import { isPlaced, isSameEndpoint, type PlacedSlice, placeEndpoints } from "./place-endpoints.ts";
import type { ServiceOffer } from "./service-offer.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";
import type { SyncedEndpoint } from "./synced-endpoint.ts";

export interface SlicesInput {
  readonly namespace: string;
  /** The service's. */
  readonly name: string;
  readonly names: CopyNames;
  readonly offer: ServiceOffer;
  /** Those Lockstep has made for this service and cluster, in the order of their names. */
  readonly slices: readonly EndpointSlice[];
  /** Whether the namespace has a slice of that name, of any owner. */
  readonly isTaken: (sliceName: string) => boolean;
  /** The object whose deletion takes new slices with it; none when absent. */
  readonly owner?: RawRecord;
  readonly isExported?: boolean;
  readonly hasAddress?: boolean;
}

export function planSlices(input: SlicesInput): readonly SyncWrite[] {
  const { offer, slices } = input;
  const { service } = offer;
  if (service === undefined && offer.isRemembered !== true)
    return slices.map((slice) => remove(slice, offer));
  const placed = placeEndpoints(offer.endpoints, slices, addressTypeOf(service));
  const used = new Set(placed.map(({ slice }) => slice));
  const names = freeNames(input);
  return [
    ...placed.flatMap((one) => {
      if (one.slice === undefined) return [create(input, one, names.next().value)];
      return isUpToDate(input, one) ? [] : [update(input, one, one.slice)];
    }),
    ...slices.filter((slice) => !used.has(slice)).map((slice) => remove(slice, offer)),
  ];
}

function isUpToDate(input: SlicesInput, placed: PlacedSlice): boolean {
  const held = placed.slice?.metadata.labels ?? {};
  const labels = Object.entries(labelsOf(input));
  return isPlaced(placed) && labels.every(([label, value]) => held[label] === value);
}

function create(input: SlicesInput, placed: PlacedSlice, name: string): SyncWrite {
  const { namespace, offer, owner } = input;
  const { addressType, endpoints } = placed;
  const owned = owner === undefined ? {} : { ownerReferences: [owner] };
  const object = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name, ...marks(input, {}), ...owned },
    addressType,
    ...contents(placed),
  };
  const summary = `${counted(endpoints.length, "endpoint")} of ${offer.cluster}`;
  const { cluster } = offer;
  return { type: "create", kind: "EndpointSlice", namespace, name, cluster, object, summary };
}

function update(input: SlicesInput, placed: PlacedSlice, slice: EndpointSlice): SyncWrite {
  const { namespace, name, resourceVersion } = slice.metadata;
  const patch = {
    metadata: { resourceVersion, ...marks(input, slice.metadata.labels) },
    ...contents(placed),
  };
  const summary = `${difference(listedInSlice(slice), placed.endpoints)} of ${input.offer.cluster}`;
  const place = { kind: "EndpointSlice", namespace, name, cluster: input.offer.cluster } as const;
  return { type: "update", ...place, patch, resourceVersion, summary };
}

function remove(slice: EndpointSlice, { cluster, service }: ServiceOffer): SyncWrite {
  const summary =
    service === undefined
      ? `the service was deleted in ${cluster}, or is no longer selected`
      : `${cluster} has no endpoint of the service any more`;
  return { ...deletion("EndpointSlice", slice.metadata, summary), cluster };
}

/** Written only together with a change, so the time is never a reason to write. */
function marks(input: SlicesInput, held: StringMap): RawRecord {
  const { changedAt } = input.offer;
  const origin =
    changedAt === undefined ? {} : { [originTimeAnnotation]: toMicroTime(changedAt.origin) };
  const labels = Object.entries(labelsOf(input)).flatMap(([label, value]) => {
    if (value !== undefined) return [[label, value]];
    return held[label] === undefined ? [] : [[label, null]];
  });
  return { labels: Object.fromEntries(labels), annotations: origin };
}

function labelsOf({ names, name, offer, isExported, hasAddress }: SlicesInput): SliceLabels {
  return ownedSliceLabels(names, {
    service: name,
    cluster: offer.cluster,
    ...(isExported === undefined ? {} : { isExported }),
    ...(hasAddress === undefined ? {} : { hasAddress }),
  });
}

function contents({ ports, endpoints }: PlacedSlice): RawRecord {
  return { ports: ports.map(rawPort), endpoints: endpoints.map(rawEndpoint) };
}

function rawPort({ name, port, protocol, appProtocol }: SlicePort): RawRecord {
  return {
    name,
    ...(port === undefined ? {} : { port }),
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function rawEndpoint(endpoint: SyncedEndpoint): RawRecord {
  const { address, ready, serving, terminating, hostname, zone, nodeName, targetRef } = endpoint;
  const { hintedZones } = endpoint;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
    ...(hintedZones === undefined
      ? {}
      : { hints: { forZones: hintedZones.map((name) => ({ name })) } }),
    ...(targetRef === undefined ? {} : { targetRef: rawTarget(targetRef) }),
  };
}

function rawTarget({ kind, namespace, name, uid }: NonNullable<SyncedEndpoint["targetRef"]>) {
  return { kind, namespace, name, ...(uid === undefined ? {} : { uid }) };
}

/** Of a cluster that is not known any more, that of its slices. */
function addressTypeOf(service: Service | undefined): string {
  return service?.ipFamilies[0] ?? "IPv4";
}

function* freeNames({
  name,
  names,
  offer,
  isTaken,
}: SlicesInput): Generator<string, never, undefined> {
  for (let number = 0; ; number += 1) {
    const candidate = sliceName(names, names.targetName(name), offer.cluster, number);
    if (!isTaken(candidate)) yield candidate;
  }
}

/** `+2 −1 ~1 endpoints`: how many join, leave and change their state. */
function difference(before: readonly SyncedEndpoint[], after: readonly SyncedEndpoint[]): string {
  const known = new Map(before.map((endpoint) => [endpoint.address, endpoint]));
  const still = new Set(after.map(({ address }) => address));
  const joining = after.filter(({ address }) => !known.has(address)).length;
  const leaving = before.filter(({ address }) => !still.has(address)).length;
  const changing = after.filter((endpoint) => {
    const earlier = known.get(endpoint.address);
    return earlier !== undefined && !isSameEndpoint(endpoint, earlier);
  }).length;
  const parts = [
    ...(joining > 0 ? [`+${joining}`] : []),
    ...(leaving > 0 ? [`−${leaving}`] : []),
    ...(changing > 0 ? [`~${changing}`] : []),
  ];
  return parts.length === 0 ? "ports or labels" : `${parts.join(" ")} endpoints`;
}
