// The offers without the endpoints that have flapped and have to wait. A service keeps at least one
// ready endpoint: where only those that wait are ready, none of them waits.

import { sourceClusterOf } from "../../decide/syncing/copy-names.ts";
import type { ServiceOffer } from "../../decide/syncing/service-offer.ts";
import type { SyncedEndpoint } from "../../decide/syncing/synced-endpoint.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import type { FlapDamping } from "./flap-damping.ts";

export interface DampedOffers {
  readonly offers: readonly ServiceOffer[];
  /** When the first of those that wait may join; undefined when none waits. */
  readonly lookAgainMs: number | undefined;
}

export function dampedOffers(
  damping: FlapDamping,
  service: string,
  offers: readonly ServiceOffer[],
  slices: readonly EndpointSlice[],
): DampedOffers {
  const waits = offers.map((offer) => waitsOf(damping, service, offer, slices));
  const ready = offers.reduce((sum, { endpoints }) => sum + endpoints.filter(isReady).length, 0);
  const waiting = waits.reduce((sum, { size }) => sum + size, 0);
  if (waiting === 0 || waiting === ready) {
    for (const offer of offers) admit(damping, service, offer, new Map());
    return { offers, lookAgainMs: undefined };
  }
  return {
    lookAgainMs: Math.min(...waits.flatMap((one) => [...one.values()])),
    offers: offers.map((offer, index) =>
      admit(damping, service, offer, waits[index] ?? new Map<SyncedEndpoint, number>()),
    ),
  };
}

/** By endpoint that has to wait, how long; notes those that leave. */
function waitsOf(
  damping: FlapDamping,
  service: string,
  { cluster, isKnown, endpoints }: ServiceOffer,
  slices: readonly EndpointSlice[],
): ReadonlyMap<SyncedEndpoint, number> {
  const waits = new Map<SyncedEndpoint, number>();
  if (!isKnown) return waits;
  const own = slices.filter((slice) => sourceClusterOf(slice) === cluster);
  const shown = new Set(own.flatMap(listedInSlice).filter(isReady).map(idOf));
  const offered = new Set(endpoints.filter(isReady).map(idOf));
  for (const id of shown) if (!offered.has(id)) damping.left(`${service} ${cluster} ${id}`);
  for (const endpoint of endpoints) {
    const id = idOf(endpoint);
    if (!endpoint.ready || shown.has(id)) continue;
    const waitMs = damping.waitMs(`${service} ${cluster} ${id}`);
    if (waitMs > 0) waits.set(endpoint, waitMs);
  }
  return waits;
}

function admit(
  damping: FlapDamping,
  service: string,
  offer: ServiceOffer,
  waits: ReadonlyMap<SyncedEndpoint, number>,
): ServiceOffer {
  const { cluster, endpoints } = offer;
  const admitted = endpoints.filter((endpoint) => !waits.has(endpoint));
  for (const endpoint of admitted) {
    if (endpoint.ready) damping.joined(`${service} ${cluster} ${idOf(endpoint)}`);
  }
  return waits.size === 0 ? offer : { ...offer, endpoints: admitted };
}

function isReady({ ready }: SyncedEndpoint): boolean {
  return ready;
}

/** A pod's successor at the same address is another endpoint. */
function idOf({ address, targetRef }: SyncedEndpoint): string {
  return `${address} ${targetRef?.uid ?? ""}`;
}
