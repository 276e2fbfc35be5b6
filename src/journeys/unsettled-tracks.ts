// Endpoints whose witnesses have begun to be observed, and may still come to agree: whether they do
// is looked at after a while. Invariant: in the order of the instants, so that looking stops early.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import { settledAtOnceMax, settleMs } from "./journey-limits.ts";

export interface Settled {
  readonly track: EndpointTrack;
  readonly since: MonotonicMs;
}

interface Unsettled {
  readonly since: MonotonicMs;
  /** Its while is counted from then on. */
  readonly from: MonotonicMs;
}

export class UnsettledTracks {
  readonly #tracks = new Map<EndpointTrack, Unsettled>();

  /** A witness has just begun with it: the while starts again. */
  add(track: EndpointTrack, now: MonotonicMs): void {
    this.lookAgain({ track, since: now }, now);
  }

  /** It is still not settled. */
  lookAgain({ track, since }: Settled, now: MonotonicMs): void {
    this.#tracks.delete(track);
    this.#tracks.set(track, { since, from: now });
  }

  delete(track: EndpointTrack): void {
    this.#tracks.delete(track);
  }

  /** Takes out those that have had their while, not all at once when there are very many. */
  takeSettled(now: MonotonicMs): readonly Settled[] {
    const settled: Settled[] = [];
    for (const [track, { since, from }] of this.#tracks) {
      if (settled.length === settledAtOnceMax || elapsedMs(from, now) < settleMs) break;
      settled.push({ track, since });
    }
    for (const { track } of settled) this.#tracks.delete(track);
    return settled;
  }
}
