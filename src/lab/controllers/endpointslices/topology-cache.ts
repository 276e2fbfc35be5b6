// Topology aware hints, which a service wants by annotation: endpoints are shared out among the
// zones by the CPUs of their nodes, as long as no endpoint gets much more than its share. Remembers
// what each service was given, to see when nodes come and go that it does not fit any more
// (staging/src/k8s.io/endpointslice/topologycache).
import type { WholeNode } from "../nodes/whole-node.ts";
import { type PublishedSlice, revisedSlice, type WantedSlice } from "./published-slice.ts";
import type { AddressType, Endpoint } from "./slice-groups.ts";
import {
  type HintedSlices,
  isReady,
  type SlicesToHint,
  withHints,
  withoutHints,
} from "./slice-hints.ts";
import {
  type Allocation,
  allocationsOf,
  type Counts,
  type Impossible,
  isOverloaded,
  movesBetween,
  zoneShares,
} from "./zone-shares.ts";

/** The Event of a service when its hints come or go. */
export interface TopologyEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: "TopologyAwareHintsEnabled" | "TopologyAwareHintsDisabled";
  readonly message: string;
}

export interface TopologyHints extends HintedSlices {
  readonly events: readonly TopologyEvent[];
}

/** By service, and there by family. */
export class TopologyCache {
  #shares: ReadonlyMap<string, number> | undefined;
  readonly #given = new Map<string, Map<string, Counts>>();
  /** Services that have hints, whatever their family. */
  readonly #populated = new Set<string>();

  setNodes(nodes: Iterable<WholeNode>): void {
    this.#shares = zoneShares(nodes);
  }

  /** Services whose hints do not fit the nodes any more. */
  overloaded(): readonly string[] {
    return [...this.#given].flatMap(([service, families]) =>
      [...families.values()].some((counts) => isOverloaded(counts, this.#shares)) ? [service] : [],
    );
  }

  add(service: string, addressType: AddressType, slices: SlicesToHint): TopologyHints {
    const all = [...slices.create, ...slices.update, ...slices.unchanged];
    const ready = all.flatMap(({ endpoints }) => endpoints).filter(isReady).length;
    const allocations = allocationsOf(this.#shares, ready);
    if ("message" in allocations) return this.#none(service, addressType, slices, allocations);
    const { counts, ...kept } = keptHints(slices, allocations);
    const rest = { ...slices, ...kept };
    const changed = [...slices.create, ...kept.update];
    if (changed.some(({ endpoints }) => endpoints.some((one) => isReady(one) && !hasZone(one)))) {
      const message = "One or more endpoints do not have a zone specified";
      return this.#none(service, addressType, rest, { message });
    }
    const hinted = shareOut(changed, counts, allocations);
    if (counts.size === 0) {
      const message = "No hints allocated for zones";
      return this.#none(service, addressType, rest, { message });
    }
    const wasPopulated = this.#populated.has(service);
    const families = this.#given.get(service) ?? new Map<string, Counts>();
    this.#given.set(service, families.set(addressType, counts));
    this.#populated.add(service);
    const message = `Topology Aware Hints has been enabled, addressType: ${addressType}`;
    return {
      create: hinted.slice(0, slices.create.length),
      update: hinted.slice(slices.create.length),
      events: wasPopulated
        ? []
        : [{ type: "Normal", reason: "TopologyAwareHintsEnabled", message }],
    };
  }

  /** The service wants no such hints; an Event reports it if it had some. */
  remove(service: string, addressType: AddressType): readonly TopologyEvent[] {
    const message = "Topology Aware Hints has been disabled";
    const events = this.#populated.has(service) ? [disabled(message, addressType)] : [];
    this.forget(service, addressType);
    return events;
  }

  forget(service: string, addressType: string): void {
    const families = this.#given.get(service);
    families?.delete(addressType);
    if (families?.size === 0) this.#given.delete(service);
    this.#populated.delete(service);
  }

  #none(
    service: string,
    addressType: AddressType,
    slices: SlicesToHint,
    { message }: Impossible,
  ): TopologyHints {
    this.forget(service, addressType);
    return { ...withoutHints(slices), events: [disabled(message, addressType)] };
  }
}

function disabled(message: string, addressType: AddressType): TopologyEvent {
  return {
    type: "Warning",
    reason: "TopologyAwareHintsDisabled",
    message: `${message}, addressType: ${addressType}`,
  };
}

/** The hints of slices that may stay as they are; the others are to be written. */
function keptHints(
  { update, unchanged }: SlicesToHint,
  allocations: ReadonlyMap<string, Allocation>,
): Omit<SlicesToHint, "create"> & { readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const written = [...update];
  const kept: PublishedSlice[] = [];
  for (const slice of unchanged) {
    const own = hintsIn(slice.endpoints, counts, allocations);
    if (own === undefined) written.push(revisedSlice(slice, slice.endpoints));
    else kept.push(slice);
    for (const [zone, count] of own ?? []) counts.set(zone, (counts.get(zone) ?? 0) + count);
  }
  return { counts, update: written, unchanged: kept };
}

/** Undefined when one is missing, or for a zone that needs none, or would be one too many. */
function hintsIn(
  endpoints: readonly Endpoint[],
  counts: Counts,
  allocations: ReadonlyMap<string, Allocation>,
): Counts | undefined {
  const own = new Map<string, number>();
  for (const { hints } of endpoints.filter(isReady)) {
    const zones = hints?.forZones ?? [];
    if (zones.length === 0 || zones.some(({ name }) => !allocations.has(name))) return undefined;
    for (const { name } of zones) own.set(name, (own.get(name) ?? 0) + 1);
  }
  const fits = [...own].every(
    ([zone, count]) => count + (counts.get(zone) ?? 0) <= (allocations.get(zone)?.maximum ?? 0),
  );
  return fits ? own : undefined;
}

/** Each endpoint is meant for its own zone at first; then those with too many give some away. */
function shareOut(
  slices: readonly WantedSlice[],
  counts: Map<string, number>,
  allocations: ReadonlyMap<string, Allocation>,
): readonly WantedSlice[] {
  const count = (zone: string, change: number) =>
    counts.set(zone, (counts.get(zone) ?? 0) + change);
  for (const { zone } of slices.flatMap(({ endpoints }) => endpoints).filter(isReady)) {
    if (zone !== undefined) count(zone, 1);
  }
  const { giving, receiving } = movesBetween(allocations, counts);
  const zoneFor = (zone: string): string => {
    const [receiver] = receiving.keys();
    if (receiver === undefined || !giving.has(zone)) return zone;
    for (const [moves, name] of [
      [giving, zone],
      [receiving, receiver],
    ] as const) {
      const left = (moves.get(name) ?? 0) - 1;
      if (left <= 0) moves.delete(name);
      else moves.set(name, left);
    }
    count(zone, -1);
    count(receiver, 1);
    return receiver;
  };
  return slices.map((slice) => ({
    ...slice,
    endpoints: slice.endpoints.map((endpoint) =>
      isReady(endpoint) && endpoint.zone !== undefined
        ? withHints(endpoint, { forZones: [{ name: zoneFor(endpoint.zone) }] })
        : endpoint,
    ),
  }));
}

function hasZone({ zone }: Endpoint): boolean {
  return zone !== undefined && zone !== "";
}
