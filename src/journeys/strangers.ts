// Endpoints that only proxies or copies have named, and no cluster's own watches. A proxy may name any
// number of them, so they get a part of the room at most, and give it up, the oldest first, where an
// endpoint needs it that a cluster tells of.
import type { EndpointTrack } from "./endpoint-track.ts";
import type { Hop, Witness } from "./witness.ts";

/** At the start a proxy may be heard before the clusters' long lists are. */
export const strangersShare = 0.5;

/** Where a cluster's own watches tell. */
export const hopsOfCluster: readonly Hop[] = ["pod", "published"];

/** Whether this is the word of a cluster's own watches. */
export function isOfCluster({ hop }: Witness): boolean {
  return hopsOfCluster.includes(hop);
}

export class Strangers {
  /** In the order in which they were first named. */
  readonly #tracks = new Set<EndpointTrack>();

  get size(): number {
    return this.#tracks.size;
  }

  get oldest(): EndpointTrack | undefined {
    for (const track of this.#tracks) return track;
    return undefined;
  }

  has(track: EndpointTrack): boolean {
    return this.#tracks.has(track);
  }

  /** Somebody tells of an endpoint of which nobody did before. */
  add(track: EndpointTrack): void {
    this.#tracks.add(track);
  }

  /** It is known to a cluster, or to nobody any more. */
  delete(track: EndpointTrack): void {
    this.#tracks.delete(track);
  }
}
