// The endpoints that are known, of which there is a bounded number: those of the clusters come first,
// strangers have a share, and those that are gone give up their room before all others.
import type { MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import { EndpointTracks } from "./endpoint-tracks.ts";
import { GoneTracks } from "./gone-tracks.ts";
import { isOfCluster, Strangers, strangersShare } from "./strangers.ts";
import type {
  ServiceRef,
  TrafficReport,
  Witness,
  WitnessedEndpoint,
  WitnessReport,
} from "./witness.ts";

export interface KnownEndpointsOptions {
  readonly endpointsMax: number;
  /** Whether there is room for journeys of endpoints that no cluster knows. */
  readonly canStrangersPend: () => boolean;
  /** No cluster knows it and its room is needed: what is told of it from now on is unknown. */
  readonly onDismissed: (stranger: EndpointTrack) => void;
  readonly onForgotten: (track: EndpointTrack) => void;
}

export class KnownEndpoints {
  readonly #options: KnownEndpointsOptions;
  readonly #tracks = new EndpointTracks();
  readonly #strangers = new Strangers();
  readonly #gone = new GoneTracks();

  constructor(options: KnownEndpointsOptions) {
    this.#options = options;
  }

  find(report: WitnessReport): EndpointTrack | undefined {
    return this.#tracks.find(report);
  }

  /** In every cluster. */
  ofService(service: string): readonly EndpointTrack[] {
    return this.#tracks.ofService(service);
  }

  /** All that a request may have been meant for. */
  atAddress(request: TrafficReport): readonly EndpointTrack[] {
    return this.#tracks.atAddress(request);
  }

  /** Others that had, or have, the same address and port in the service. */
  othersAt(track: EndpointTrack): readonly EndpointTrack[] {
    return this.#tracks.othersAt(track);
  }

  /** Those of them that came later. */
  laterAt(track: EndpointTrack): readonly EndpointTrack[] {
    return this.#tracks.laterAt(track);
  }

  /** As the clusters' own watches know it, by its address or else by its pod. */
  locate(endpoint: WitnessedEndpoint): WitnessedEndpoint | undefined {
    return this.#tracks.locate(endpoint, (track) => !this.#strangers.has(track));
  }

  /** Whether the clusters' own watches know endpoints of it; of any cluster where none is named. */
  hasOf({ cluster, service }: ServiceRef): boolean {
    return this.#tracks
      .ofService(service)
      .some(
        (track) =>
          !track.changes.isGone &&
          !this.#strangers.has(track) &&
          (cluster === undefined || track.endpoint.cluster === cluster),
      );
  }

  /** The one that the report is on, if it is known, or a new one; undefined when there is no room. */
  admit(
    { witness, endpoint }: WitnessReport,
    known: EndpointTrack | undefined,
  ): EndpointTrack | undefined {
    if (known === undefined && !this.#hasRoomFor(witness)) return undefined;
    const track = known ?? this.#tracks.add(endpoint);
    if (isOfCluster(witness)) this.#strangers.delete(track);
    else if (known === undefined) this.#strangers.add(track);
    track.identify(endpoint);
    return track;
  }

  /** True when it was no stranger, or there is room for what strangers wait for. */
  mayPend(track: EndpointTrack): boolean {
    return !this.#strangers.has(track) || this.#options.canStrangersPend();
  }

  dismiss(stranger: EndpointTrack): void {
    this.#options.onDismissed(stranger);
    this.#forget(stranger);
  }

  /** Something has changed about it: it may be gone, or back. */
  review(track: EndpointTrack, now: MonotonicMs): void {
    if (!track.changes.isGone) this.#gone.delete(track);
    else if (track.changes.areMissed(now)) this.#gone.add(track, now);
    else this.#forget(track);
  }

  /** Those that are gone, and of which nobody will tell any more. */
  forgetGone(now: MonotonicMs): void {
    for (;;) {
      const track = this.#gone.takeOld(now);
      if (track === undefined) return;
      this.#forget(track);
    }
  }

  /** For an endpoint that the witness is the first to name. */
  #hasRoomFor(witness: Witness): boolean {
    const { endpointsMax, canStrangersPend } = this.#options;
    if (!isOfCluster(witness)) {
      const isRoomy = this.#strangers.size < endpointsMax * strangersShare;
      return isRoomy && this.#tracks.size < endpointsMax && canStrangersPend();
    }
    if (this.#tracks.size >= endpointsMax) {
      const gone = this.#gone.takeOldest();
      const { oldest } = this.#strangers;
      if (gone !== undefined) this.#forget(gone);
      else if (oldest !== undefined) this.dismiss(oldest);
    }
    return this.#tracks.size < endpointsMax;
  }

  #forget(track: EndpointTrack): void {
    if (!this.#tracks.remove(track)) return;
    this.#gone.delete(track);
    this.#strangers.delete(track);
    this.#options.onForgotten(track);
  }
}
