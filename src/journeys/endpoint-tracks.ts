// All endpoints that are watched, found by what a report says of them. Most reports name the pod;
// those of a proxy may name nothing but service, address and port, and then it takes a choice.
import { EndpointTrack } from "./endpoint-track.ts";
import { endpointKey, placeKey, type WitnessedEndpoint, type WitnessReport } from "./witness.ts";

/** Invariant: every track is under its place, and under no other. */
export class EndpointTracks {
  readonly #byPlace = new Map<string, EndpointTrack[]>();
  readonly #nextId: () => number;
  #size = 0;

  constructor(nextId: () => number) {
    this.#nextId = nextId;
  }

  get size(): number {
    return this.#size;
  }

  *[Symbol.iterator](): Generator<EndpointTrack, void, undefined> {
    for (const tracks of this.#byPlace.values()) yield* tracks;
  }

  find(report: WitnessReport): EndpointTrack | undefined {
    const { endpoint, witness, direction } = report;
    const tracks = this.#byPlace.get(placeKey(endpoint)) ?? [];
    const key = endpointKey(endpoint);
    const same = tracks.find((track) => endpointKey(track.endpoint) === key);
    if (same !== undefined) return same;
    const possible = tracks.filter((track) => isCompatible(track.endpoint, endpoint));
    return (
      possible.find((track) => track.awaited(witness, direction) !== undefined) ??
      // The newest: with an address that was given again, that is the pod that has it now.
      possible.findLast((track) => track.current?.direction !== "leave")
    );
  }

  add(endpoint: WitnessedEndpoint): EndpointTrack {
    const track = new EndpointTrack(endpoint, this.#nextId);
    const others = this.#byPlace.get(track.place);
    if (others === undefined) this.#byPlace.set(track.place, [track]);
    else others.push(track);
    this.#size += 1;
    return track;
  }

  remove(track: EndpointTrack): void {
    const tracks = this.#byPlace.get(track.place) ?? [];
    const rest = tracks.filter((one) => one !== track);
    this.#size -= tracks.length - rest.length;
    if (rest.length === 0) this.#byPlace.delete(track.place);
    else this.#byPlace.set(track.place, rest);
  }

  /** Others that had, or have, the same address and port in the service. */
  othersAt(track: EndpointTrack): readonly EndpointTrack[] {
    const tracks = this.#byPlace.get(track.place) ?? [];
    return tracks.filter((one) => one !== track);
  }
}

/** Whether both may be the same endpoint: what one does not know does not speak against it. */
function isCompatible(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  return isSameOrUnknown(a.cluster, b.cluster) && isSameOrUnknown(a.podUid, b.podUid);
}

function isSameOrUnknown(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}
