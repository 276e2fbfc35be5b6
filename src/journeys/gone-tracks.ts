// Endpoints that are gone for everybody, some of whose changes a witness has left out: one that was
// cut off may yet tell of them, and is then not taken to tell of new ones. Invariant: in the order in
// which they went, so that the oldest are let go first.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import { goneMax, keptMs } from "./journey-limits.ts";

export class GoneTracks {
  readonly #since = new Map<EndpointTrack, MonotonicMs>();

  add(track: EndpointTrack, now: MonotonicMs): void {
    if (!this.#since.has(track)) this.#since.set(track, now);
  }

  /** It is back, or forgotten. */
  delete(track: EndpointTrack): void {
    this.#since.delete(track);
  }

  /** Takes the oldest out if nobody tells of it any more, or if there are too many. */
  takeOld(now: MonotonicMs): EndpointTrack | undefined {
    for (const [track, since] of this.#since) {
      if (elapsedMs(since, now) < keptMs && this.#since.size <= goneMax) return undefined;
      this.#since.delete(track);
      return track;
    }
    return undefined;
  }

  /** Takes the oldest out, whenever it went. */
  takeOldest(): EndpointTrack | undefined {
    for (const track of this.#since.keys()) {
      this.#since.delete(track);
      return track;
    }
    return undefined;
  }
}
