// The observer's core: makes journeys out of what witnesses report. It does no IO and reads no
// clock: reports carry their time, and `advance` says how late it is. Every report becomes part of
// one journey or is counted as something else; what had to be let go is counted too.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack, Taken } from "./endpoint-track.ts";
import { EndpointTracks } from "./endpoint-tracks.ts";
import { Followers } from "./followers.ts";
import type { HopTime, Journey, Outcome } from "./journey.ts";
import type { OpenJourney } from "./open-journey.ts";
import type { Direction, Hop, ServiceRef, Witness, WitnessReport, WitnessSink } from "./witness.ts";

export type JourneyEvent =
  /** A witness shows the change; also the first one, which makes the origin. */
  | { readonly type: "shown"; readonly journey: Journey; readonly hop: HopTime }
  | { readonly type: "stuck"; readonly journey: Journey; readonly hop: HopTime }
  /** Once for every journey: nothing more will be learnt of it. */
  | { readonly type: "over"; readonly journey: Journey };

export interface JourneysOptions {
  /** Called synchronously. */
  readonly onEvent: (event: JourneyEvent) => void;
  /** How late a hop may be before the journey is stuck there. */
  readonly budgetMs?: Readonly<Record<Hop, number>>;
  readonly endpointsMax?: number;
  readonly pendingMax?: number;
}

/** What became of the reports. */
export type ReportCount = Taken["type"] | "unknown" | "dropped";

export type ReportCounts = Readonly<Record<ReportCount, number>>;

/** The oldest change that witnesses of a hop have yet to show. */
export interface OldestPending {
  readonly cluster: string;
  readonly hop: Hop;
  readonly direction: Direction;
  readonly ageMs: number;
}

/** Ordinary changes take less than a second at each hop; after this a person should know. */
export const defaultBudgetMs = {
  pod: 30_000,
  published: 30_000,
  synced: 30_000,
  routed: 30_000,
  traffic: 30_000,
};

/** At some 500 bytes each 100 MB: more endpoints than Kubernetes supports pods in a cluster. */
const defaultEndpointsMax = 200_000;

/** A rollout of a whole large cluster while nothing is published. */
const defaultPendingMax = 50_000;

/** How long a witness that agrees may still show the changes it seems to have left out. */
export const settleMs = 10_000;

/** Longer than any incident was allowed to last. */
export const abandonAfterMs = 6 * 3_600_000;

export class Journeys implements WitnessSink {
  readonly #options: Required<JourneysOptions>;
  readonly #tracks = new EndpointTracks(() => this.#lastId + 1);
  readonly #followers = new Followers();
  /** In the order of opening. */
  readonly #pending = new Map<OpenJourney, EndpointTrack>();
  readonly #counts: Record<ReportCount, number> = {
    opened: 0,
    matched: 0,
    withdrawn: 0,
    baseline: 0,
    earlier: 0,
    repeated: 0,
    unknown: 0,
    dropped: 0,
  };
  #lastId = 0;

  constructor(options: JourneysOptions) {
    this.#options = {
      budgetMs: defaultBudgetMs,
      endpointsMax: defaultEndpointsMax,
      pendingMax: defaultPendingMax,
      ...options,
    };
  }

  get counts(): ReportCounts {
    return { ...this.#counts };
  }

  /** Journeys that are not over, oldest first. */
  pending(): readonly Journey[] {
    return [...this.#pending].map(([journey, track]) => this.#snapshot(journey, track));
  }

  follow(witness: Witness, service: ServiceRef): void {
    this.#followers.follow(witness, service);
  }

  unfollow(witness: Witness, service: ServiceRef): void {
    this.#followers.unfollow(witness, service);
  }

  report(report: WitnessReport): void {
    const known = this.#tracks.find(report);
    if (known === undefined && report.direction === "leave") {
      this.#counts.unknown += 1;
      return;
    }
    if (known === undefined && this.#tracks.size >= this.#options.endpointsMax) {
      this.#counts.dropped += 1;
      return;
    }
    const track = known ?? this.#tracks.add(report.endpoint);
    track.identify(report.endpoint);
    const taken = track.take(report, this.#followersOf(track));
    this.#counts[taken.type] += 1;
    this.#follow(taken, track, report.witness);
  }

  /** Finds what is stuck, settled or no longer waited for. To be called every second or so. */
  advance(now: MonotonicMs): void {
    for (const [journey, track] of this.#pending) {
      const followers = this.#followersOf(track);
      track.settle(now, followers, settleMs);
      this.#endIfDone(journey, track);
      if (journey.outcome !== "pending") continue;
      if (elapsedMs(journey.originAt, now) >= abandonAfterMs) {
        this.#end(journey, track, "abandoned");
        continue;
      }
      for (const witness of followers) {
        if (journey.isMarkedBy(witness) || track.isPassedBy(witness, journey)) continue;
        if (!journey.becomesStuck(witness, now, this.#options.budgetMs[witness.hop])) continue;
        this.#emit("stuck", journey, track, witness);
      }
    }
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestPending(now: MonotonicMs): readonly OldestPending[] {
    const oldest = new Map<string, OldestPending>();
    for (const [journey, track] of this.#pending) {
      if (journey !== track.current) continue;
      const { direction } = journey;
      const cluster = track.endpoint.cluster ?? "";
      for (const witness of this.#followersOf(track)) {
        if (journey.isMarkedBy(witness)) continue;
        const { hop } = witness;
        const ageMs = Math.max(0, elapsedMs(journey.originAt, now));
        const key = `${cluster} ${hop} ${direction}`;
        if (ageMs <= (oldest.get(key)?.ageMs ?? -1)) continue;
        oldest.set(key, { cluster, hop, direction, ageMs });
      }
    }
    return [...oldest.values()];
  }

  #follow(taken: Taken, track: EndpointTrack, witness: Witness): void {
    switch (taken.type) {
      case "opened":
        this.#opened(taken.journey, track, witness);
        break;
      case "matched":
        if (taken.journey.outcome === "pending") {
          this.#emit("shown", taken.journey, track, witness);
        }
        break;
      case "withdrawn":
        this.#end(taken.journey, track, "withdrawn");
        break;
      case "baseline":
      case "earlier":
      case "repeated":
        break;
    }
    for (const journey of track.pending) this.#endIfDone(journey, track);
    this.#forgetIfGone(track);
  }

  #opened(journey: OpenJourney, track: EndpointTrack, witness: Witness): void {
    this.#lastId = journey.id;
    this.#pending.set(journey, track);
    if (journey.direction === "join") {
      for (const other of this.#tracks.othersAt(track)) {
        other.handOver(track);
        for (const left of other.pending) this.#endIfDone(left, other);
        this.#forgetIfGone(other);
      }
    }
    this.#emit("shown", journey, track, witness);
    const [oldest] = this.#pending;
    if (this.#pending.size > this.#options.pendingMax && oldest !== undefined) {
      this.#end(...oldest, "dropped");
    }
  }

  #endIfDone(journey: OpenJourney, track: EndpointTrack): void {
    if (journey.outcome !== "pending") return;
    if (!track.isDone(journey, this.#followersOf(track))) return;
    this.#end(journey, track, journey === track.current ? "complete" : "superseded");
  }

  #end(journey: OpenJourney, track: EndpointTrack, outcome: Outcome): void {
    journey.outcome = outcome;
    this.#pending.delete(journey);
    track.release(journey);
    this.#options.onEvent({ type: "over", journey: this.#snapshot(journey, track) });
    this.#forgetIfGone(track);
  }

  #forgetIfGone(track: EndpointTrack): void {
    if (track.isGone) this.#tracks.remove(track);
  }

  #emit(
    type: "shown" | "stuck",
    journey: OpenJourney,
    track: EndpointTrack,
    witness: Witness,
  ): void {
    const hop = journey.hopTime(witness);
    this.#options.onEvent({ type, journey: this.#snapshot(journey, track), hop });
  }

  #snapshot(journey: OpenJourney, track: EndpointTrack): Journey {
    const passed = (witness: Witness) => track.isPassedBy(witness, journey);
    return journey.snapshot(this.#followersOf(track), passed);
  }

  #followersOf(track: EndpointTrack): readonly Witness[] {
    return this.#followers.of(track.endpoint);
  }
}
