// The offer of one business cluster for one service: whether the cluster is known at all, whether
// it offers the service for copying, with which endpoints, and since when.
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { Service } from "../../kube/kinds/service.ts";
import type { ServiceExport } from "../../kube/kinds/service-export.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import { sourceClusterOf } from "./copy-names.ts";
import type { ExportedService } from "./merge-exports.ts";
import type { SyncedEndpoint } from "./synced-endpoint.ts";

export interface ServiceOffer {
  readonly cluster: string;
  /**
   * False until the cluster has once been listed: then its silence means nothing, and what was
   * copied from it stays. A cluster lost later is still known by what it said last. False too for a
   * service that is perhaps unselected by mistake.
   */
  readonly isKnown: boolean;
  /** Undefined when the cluster does not have the service or does not want it copied. */
  readonly service: Service | undefined;
  /** Of the service, which is undefined for a service that is offered for other reasons. */
  readonly serviceExport?: ServiceExport;
  /**
   * The cluster is not known, and has been silent for too long: the endpoints are what its copies
   * may still be used for. False when absent.
   */
  readonly isRemembered?: true;
  readonly endpoints: readonly SyncedEndpoint[];
  /** When what is offered last changed, as well as is known. */
  readonly changedAt: OfferTime | undefined;
  /** A hash of the content; undefined with the service. */
  readonly version: string | undefined;
}

export interface OfferTime {
  /** By the source's own word where it gave one, else when we saw it. */
  readonly origin: WallMs;
  /** When we saw it, by our own wall clock: the origin itself if the source gave none. */
  readonly readAt: WallMs;
  readonly seenAtMs: MonotonicMs;
}

/** The services that clusters export; a service that is only selected is none of them. */
export function exportedOf(offers: readonly ServiceOffer[]): readonly ExportedService[] {
  return offers.flatMap(({ cluster, service, serviceExport }) =>
    service === undefined || serviceExport === undefined
      ? []
      : [{ cluster, service, serviceExport }],
  );
}

/** Equal for offers of equal content. */
export function offerVersion(
  service: Service,
  endpoints: readonly SyncedEndpoint[],
  serviceExport?: ServiceExport,
): string {
  let hash = 0x811c9dc5;
  const add = (text: string): void => {
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    }
  };
  add(JSON.stringify(service.ports));
  if (serviceExport !== undefined) {
    const { metadata, exportedLabels, exportedAnnotations } = serviceExport;
    const { type, clusterIP, sessionAffinity, traffic, ipFamilies } = service;
    add(JSON.stringify([metadata.uid, exportedLabels, exportedAnnotations]));
    add(JSON.stringify([type, clusterIP, sessionAffinity, traffic, ipFamilies]));
  }
  for (const { address, ports, ready, serving, terminating, targetRef } of endpoints) {
    add(`${address} ${ready} ${serving} ${terminating} ${targetRef?.uid}`);
    for (const { name, port } of ports) add(`${name}:${port}`);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

export interface EndpointChange {
  readonly address: string;
  readonly direction: "join" | "leave";
}

/** The endpoints that begin or cease to be ready when the offer replaces these slices. */
export function endpointChanges(
  { cluster, isKnown, endpoints }: ServiceOffer,
  slices: readonly EndpointSlice[],
): readonly EndpointChange[] {
  if (!isKnown) return [];
  const own = slices.filter((slice) => sourceClusterOf(slice) === cluster);
  const before = readyAddresses(own.flatMap(listedInSlice));
  const after = readyAddresses(endpoints);
  return [
    ...[...after].filter((one) => !before.has(one)).map(changed("join")),
    ...[...before].filter((one) => !after.has(one)).map(changed("leave")),
  ];
}

function changed(direction: EndpointChange["direction"]) {
  return (address: string): EndpointChange => ({ address, direction });
}

function readyAddresses(endpoints: readonly SyncedEndpoint[]): ReadonlySet<string> {
  return new Set(endpoints.flatMap(({ address, ready }) => (ready ? [address] : [])));
}
