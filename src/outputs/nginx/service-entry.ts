// One service as it is pushed to nginx: flat arrays of its endpoints in tiers, the best first. The
// tier of each is decided here; the twin of proxy/lua/lockstep/service_entry.lua checks it.

import { type DecidedEndpoint, isRouted } from "../../decide/decision.ts";
import { atOnce, mapInSteps, type Steps } from "../../environment/steps.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import { endpointId } from "../../sources/endpoint-id.ts";

export interface ServiceEntry {
  /** How many of the endpoints, in their order, are of the first choice, the second, and so on. */
  readonly tiers: readonly number[];
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
  readonly slots: readonly number[];
  /** `cluster/namespace/pod`, or `cluster/address` where no pod is known. */
  readonly names: readonly string[];
  /** Absent when all are alike. */
  readonly weights?: readonly number[];
}

/** Endpoints that may get requests, each address and port once, with the tiers they are in. */
export interface TieredEndpoints {
  readonly tiers: readonly number[];
  readonly endpoints: readonly DecidedEndpoint[];
}

/** In the order of their use: a group is tried when none of those before can serve. */
const groups: readonly ((endpoint: DecidedEndpoint) => boolean)[] = [
  isRouted,
  ({ state }) => state === "draining",
  ({ state }) => state === "suspect",
];

/** By state, and among those of the same state by priority. */
export function tieredEndpoints(endpoints: readonly DecidedEndpoint[]): TieredEndpoints {
  return atOnce(tieredInSteps(endpoints));
}

export function* tieredInSteps(endpoints: readonly DecidedEndpoint[]): Steps<TieredEndpoints> {
  const known = new Set<string>();
  const tiers: number[] = [];
  const ordered: DecidedEndpoint[] = [];
  for (const isInGroup of groups) {
    for (const tier of byPriority(endpoints.filter(isInGroup))) {
      const before = ordered.length;
      yield* mapInSteps(tier, (endpoint) => {
        const { address, port } = endpoint;
        const peer = endpointId({ address, port });
        if (known.has(peer)) return;
        known.add(peer);
        ordered.push(endpoint);
      });
      if (ordered.length > before) tiers.push(ordered.length - before);
    }
    yield;
  }
  return { tiers, endpoints: ordered };
}

/** `key` is the service's `namespace/name:port`. */
export function serviceEntry(
  key: string,
  { tiers, endpoints }: TieredEndpoints,
  slots: readonly number[],
): ServiceEntry {
  const [namespace = ""] = key.split("/");
  const weights = endpoints.map(({ weight = 1 }) => weight);
  const areAlike = weights.every((weight) => weight === weights[0]);
  return {
    tiers,
    addresses: endpoints.map(({ address }) => address),
    ports: endpoints.map(({ port }) => port),
    slots,
    names: endpoints.map(({ cluster, podName, address }) =>
      podName === undefined ? `${cluster}/${address}` : `${cluster}/${namespace}/${podName}`,
    ),
    ...(areAlike ? {} : { weights }),
  };
}

export function isServiceEntry(value: unknown): value is ServiceEntry {
  if (!isRecord(value)) return false;
  const { tiers, addresses, ports, slots, names, weights } = value;
  if (!Array.isArray(addresses)) return false;
  const isList = (list: unknown, fits: (one: unknown) => boolean): boolean =>
    Array.isArray(list) && list.length === addresses.length && list.every(fits);
  return (
    isTiers(tiers, addresses.length) &&
    addresses.every((address) => typeof address === "string") &&
    isList(ports, (port) => isNumber(port) && port >= 1 && port <= 65_535) &&
    isList(slots, (slot) => isNumber(slot) && slot >= 0) &&
    isList(names, (name) => typeof name === "string") &&
    (weights === undefined || isList(weights, (weight) => isNumber(weight) && weight >= 0))
  );
}

function byPriority(
  endpoints: readonly DecidedEndpoint[],
): readonly (readonly DecidedEndpoint[])[] {
  const byNumber = new Map<number, DecidedEndpoint[]>();
  for (const endpoint of endpoints) {
    const { priority = 0 } = endpoint;
    const tier = byNumber.get(priority);
    if (tier === undefined) byNumber.set(priority, [endpoint]);
    else tier.push(endpoint);
  }
  return [...byNumber].sort(([one], [other]) => one - other).map(([, tier]) => tier);
}

function isTiers(value: unknown, count: number): value is readonly number[] {
  if (!Array.isArray(value)) return false;
  const sizes: readonly unknown[] = value;
  if (!sizes.every((size) => isNumber(size) && Number.isInteger(size) && size >= 0)) return false;
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0) === count;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
