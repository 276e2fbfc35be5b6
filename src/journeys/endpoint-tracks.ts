// All endpoints that are watched, found by what a report says of them. Most reports name the pod;
// those of a proxy may name nothing but service, address and port, and then it takes a choice.
import { EndpointTrack } from "./endpoint-track.ts";
import type { TrafficReport, WitnessedEndpoint, WitnessReport } from "./witness.ts";

/** Two pods can have one place, one after the other. */
type Places = Map<string, EndpointTrack[]>;

const none: readonly EndpointTrack[] = [];

/** Invariant: every track is under its service and place, under no other, and no list is empty. */
export class EndpointTracks {
  readonly #byService = new Map<string, Places>();
  /** By address and port, whatever the service; made when a log first needs it. */
  #byAddress: Places | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those of a service, in every cluster. */
  ofService(service: string): readonly EndpointTrack[] {
    const places = this.#byService.get(service);
    return places === undefined ? none : [...places.values()].flat();
  }

  find(report: WitnessReport): EndpointTrack | undefined {
    const { endpoint, witness, direction } = report;
    const tracks = this.#at(endpoint);
    const same = tracks.find((track) => isSame(track.endpoint, endpoint));
    // Where no pod is named, one that is gone yields to whoever has the address now.
    const isSure = endpoint.podUid !== undefined || same?.changes.isGone === false;
    if (tracks.length === 0 || (same !== undefined && isSure)) return same;
    const possible = tracks.filter(
      (track) =>
        !track.changes.isGone &&
        isCompatible(track.endpoint, endpoint) &&
        (direction === "join" || track.changes.shows(witness) === "join"),
    );
    const awaits = ({ changes }: EndpointTrack): boolean =>
      changes.awaited(witness, direction) !== undefined;
    return (
      // Of several that await it, the one that has the address now.
      possible.findLast((one) => one.changes.current?.direction === direction && awaits(one)) ??
      possible.find(awaits) ??
      // The newest: with an address that was given again, that is the pod that has it now.
      possible.findLast((track) => track.changes.current?.direction !== "leave") ??
      // Who left is likelier to come back than to be followed by another so soon.
      possible.at(-1) ??
      same
    );
  }

  /** What an endpoint may be among some: itself, where it has its address, or else its pod's. */
  locate(
    endpoint: WitnessedEndpoint,
    isAmong: (track: EndpointTrack) => boolean,
  ): WitnessedEndpoint | undefined {
    const canBe = (track: EndpointTrack): boolean =>
      isAmong(track) && isCompatible(track.endpoint, endpoint);
    if (this.#at(endpoint).some(canBe)) return endpoint;
    if (endpoint.podUid === undefined) return undefined;
    const found = this.ofService(endpoint.service).find(
      (track) => canBe(track) && isOfSamePod(track.endpoint, endpoint),
    );
    return found?.endpoint;
  }

  /** All that a request may have been meant for. */
  atAddress({ service, address, port }: TrafficReport): readonly EndpointTrack[] {
    if (service !== undefined) return this.#at({ service, address, port });
    this.#byAddress ??= this.#allByAddress();
    return this.#byAddress.get(placeOf({ address, port })) ?? none;
  }

  add(endpoint: WitnessedEndpoint): EndpointTrack {
    const track = new EndpointTrack(endpoint);
    const places = this.#byService.get(endpoint.service) ?? new Map<string, EndpointTrack[]>();
    this.#byService.set(endpoint.service, places);
    put(places, track);
    if (this.#byAddress !== undefined) put(this.#byAddress, track);
    this.#size += 1;
    return track;
  }

  /** True when it was there. */
  remove(track: EndpointTrack): boolean {
    const { service } = track.endpoint;
    const places = this.#byService.get(service);
    if (places === undefined || !take(places, track)) return false;
    if (places.size === 0) this.#byService.delete(service);
    if (this.#byAddress !== undefined) take(this.#byAddress, track);
    this.#size -= 1;
    return true;
  }

  /** Others that had, or have, the same address and port in the service. */
  othersAt(track: EndpointTrack): readonly EndpointTrack[] {
    const tracks = this.#at(track.endpoint);
    return tracks.length === 1 ? none : tracks.filter((one) => one !== track);
  }

  /** Those of them that came later. */
  laterAt(track: EndpointTrack): readonly EndpointTrack[] {
    const tracks = this.#at(track.endpoint);
    return tracks.length === 1 ? none : tracks.slice(tracks.indexOf(track) + 1);
  }

  #at(of: Pick<WitnessedEndpoint, "service" | "address" | "port">): readonly EndpointTrack[] {
    return this.#byService.get(of.service)?.get(placeOf(of)) ?? none;
  }

  #allByAddress(): Places {
    const all: Places = new Map();
    for (const places of this.#byService.values()) {
      for (const tracks of places.values()) for (const track of tracks) put(all, track);
    }
    return all;
  }
}

function placeOf({ address, port }: Pick<WitnessedEndpoint, "address" | "port">): string {
  return `${address} ${port}`;
}

function put(places: Places, track: EndpointTrack): void {
  const place = placeOf(track.endpoint);
  const others = places.get(place);
  if (others === undefined) places.set(place, [track]);
  else others.push(track);
}

function take(places: Places, track: EndpointTrack): boolean {
  const place = placeOf(track.endpoint);
  const tracks = places.get(place);
  const index = tracks?.indexOf(track) ?? -1;
  if (tracks === undefined || index === -1) return false;
  if (tracks.length === 1) places.delete(place);
  else tracks.splice(index, 1);
  return true;
}

function isSame(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  return a.podUid === b.podUid && a.cluster === b.cluster;
}

/** With addresses of the same kind: a pod can have one of each. */
function isOfSamePod(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  const isSameKind = a.address.includes(":") === b.address.includes(":");
  return a.podUid === b.podUid && a.port === b.port && isSameKind;
}

/** Whether both may be the same endpoint: what one does not know does not speak against it. */
function isCompatible(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  return isSameOrUnknown(a.cluster, b.cluster) && isSameOrUnknown(a.podUid, b.podUid);
}

function isSameOrUnknown(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}
