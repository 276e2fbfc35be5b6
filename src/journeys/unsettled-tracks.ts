// Endpoints whose witnesses have begun to be observed, and may still come to agree: whether they do
// is looked at after a while. Invariant: in the order of the instants, so that looking stops early.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import { settledAtOnceMax, settleMs } from "./journey-limits.ts";

export interface Settled {
  readonly track: EndpointTrack;
  readonly since: MonotonicMs;
}

export class UnsettledTracks {
  readonly #since = new Map<EndpointTrack, MonotonicMs>();

  /** A witness has just begun with it: the while starts again. */
  add(track: EndpointTrack, now: MonotonicMs): void {
    this.#since.delete(track);
    this.#since.set(track, now);
  }

  delete(track: EndpointTrack): void {
    this.#since.delete(track);
  }

  /** Takes out those that have had their while, not all at once when there are very many. */
  takeSettled(now: MonotonicMs): readonly Settled[] {
    const settled: Settled[] = [];
    for (const [track, since] of this.#since) {
      if (settled.length === settledAtOnceMax || elapsedMs(since, now) < settleMs) break;
      settled.push({ track, since });
    }
    for (const { track } of settled) this.#since.delete(track);
    return settled;
  }
}
