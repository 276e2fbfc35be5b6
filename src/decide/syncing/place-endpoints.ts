// Which endpoint goes into which slice of one service and one source cluster. An endpoint stays where
// it is, a newcomer goes where something changes anyway, and an emptied slice is used again before a
// new one is made: so a change costs as few writes as it can. The order of the endpoints does not
// matter; that of the slices does, so they come sorted.
import type { EndpointSlice, SlicePort } from "../../kube/kinds/endpoint-slice.ts";
import { listedInSlice } from "../../model/published-endpoint.ts";
import type { SyncedEndpoint } from "./synced-endpoint.ts";

export interface PlacedSlice {
  /** The slice that is to hold it; undefined when a new one has to be made. */
  readonly slice: EndpointSlice | undefined;
  /** An existing slice keeps its own: the API server does not allow a change. */
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SyncedEndpoint[];
}

/** As the endpoint slice controller has it: a change then resends at most some 20 kB. */
export const maxEndpointsPerSlice = 100;

/**
 * Slices that are not in the result are not needed any more. There is always one: it says that the
 * cluster offers the service, be it without endpoints, in which case it has `emptyAddressType`.
 */
export function placeEndpoints(
  endpoints: readonly SyncedEndpoint[],
  slices: readonly EndpointSlice[],
  emptyAddressType: string,
): readonly PlacedSlice[] {
  const groups = groupByPorts(endpoints);
  const staying = groups.map((group) => keepInPlace(group, slices));
  const claimed = new Set(staying.flat().map(({ slice }) => slice));
  const free = slices.filter((slice) => !claimed.has(slice));
  const placed = groups.flatMap((group, index) => [
    ...fill(group, staying[index] ?? []),
    ...overflow(group, free),
  ]);
  return placed.length > 0 ? placed : [placeholder(free[0], emptyAddressType)];
}

/** Whether the slice holds exactly this already. */
export function isPlaced({ slice, ports, endpoints }: PlacedSlice): boolean {
  if (slice === undefined) return false;
  const current = listedInSlice(slice);
  return (
    portsKey(slice.ports) === portsKey(ports) &&
    current.length === endpoints.length &&
    endpoints.every((endpoint, index) => isSameEndpoint(endpoint, current[index]))
  );
}

export function isSameEndpoint(a: SyncedEndpoint, b: SyncedEndpoint | undefined): boolean {
  return b !== undefined && contentOf(a) === contentOf(b);
}

interface Group {
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  /** Those without a place yet, by address. */
  readonly homeless: Map<string, SyncedEndpoint>;
}

/** A slice has one address type and one list of ports; there are as many groups as combinations. */
function groupByPorts(endpoints: readonly SyncedEndpoint[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const endpoint of endpoints) {
    const { addressType, address } = endpoint;
    const ports = endpoint.ports.toSorted((a, b) => compare(portsKey([a]), portsKey([b])));
    const key = groupKey(addressType, ports);
    const group = groups.get(key) ?? { addressType, ports, homeless: new Map() };
    groups.set(key, group);
    const rival = group.homeless.get(address);
    if (rival === undefined || isBetter(endpoint, rival)) group.homeless.set(address, endpoint);
  }
  return [...groups].sort(([a], [b]) => compare(a, b)).map(([, group]) => group);
}

/** An endpoint that moves between two slices of its controller is for a moment in both. */
function isBetter(endpoint: SyncedEndpoint, rival: SyncedEndpoint): boolean {
  const rank = ({ ready, serving, terminating }: SyncedEndpoint) =>
    Number(ready) * 4 + Number(serving) * 2 + Number(!terminating);
  const difference = rank(endpoint) - rank(rival);
  return difference === 0 ? contentOf(endpoint) < contentOf(rival) : difference > 0;
}

function keepInPlace(group: Group, slices: readonly EndpointSlice[]): readonly PlacedSlice[] {
  const { addressType, ports, homeless } = group;
  const key = groupKey(addressType, ports);
  return slices.flatMap((slice) => {
    if (groupKey(slice.addressType, slice.ports) !== key) return [];
    const endpoints = listedInSlice(slice).flatMap(({ address }) => {
      const endpoint = homeless.get(address);
      homeless.delete(address);
      return endpoint === undefined ? [] : [endpoint];
    });
    return endpoints.length === 0 ? [] : [{ slice, addressType, ports, endpoints }];
  });
}

/** Newcomers go first where a write is due in any case. */
function fill({ homeless }: Group, staying: readonly PlacedSlice[]): readonly PlacedSlice[] {
  const dueFirst = staying.toSorted((a, b) => Number(isPlaced(a)) - Number(isPlaced(b)));
  return dueFirst.map((placed) => {
    const room = Math.max(0, maxEndpointsPerSlice - placed.endpoints.length);
    return { ...placed, endpoints: [...placed.endpoints, ...take(homeless, room)] };
  });
}

function overflow(group: Group, free: EndpointSlice[]): readonly PlacedSlice[] {
  const { addressType, ports, homeless } = group;
  const placed: PlacedSlice[] = [];
  while (homeless.size > 0) {
    const at = free.findIndex((slice) => slice.addressType === addressType);
    const [slice] = at === -1 ? [] : free.splice(at, 1);
    placed.push({ slice, addressType, ports, endpoints: take(homeless, maxEndpointsPerSlice) });
  }
  return placed;
}

function placeholder(slice: EndpointSlice | undefined, addressType: string): PlacedSlice {
  return slice === undefined
    ? { slice, addressType, ports: [], endpoints: [] }
    : { slice, addressType: slice.addressType, ports: slice.ports, endpoints: [] };
}

function take(homeless: Map<string, SyncedEndpoint>, count: number): readonly SyncedEndpoint[] {
  const endpoints = [...homeless.values()]
    .sort((a, b) => compare(a.address, b.address))
    .slice(0, count);
  for (const { address } of endpoints) homeless.delete(address);
  return endpoints;
}

function groupKey(addressType: string, ports: readonly SlicePort[]): string {
  return `${addressType} ${portsKey(ports)}`;
}

function portsKey(ports: readonly SlicePort[]): string {
  return JSON.stringify(
    ports.map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol]),
  );
}

/** Everything but the ports, which are the slice's. */
function contentOf(endpoint: SyncedEndpoint): string {
  const { address, ready, serving, terminating, hostname, zone, nodeName, targetRef } = endpoint;
  const { hintedZones } = endpoint;
  const { kind, namespace, name, uid } = targetRef ?? {};
  const states = [ready, serving, terminating];
  const place = [hostname, zone, nodeName, hintedZones];
  return JSON.stringify([address, states, place, [kind, namespace, name, uid]]);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
