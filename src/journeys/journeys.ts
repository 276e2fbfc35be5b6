// The observer's core: makes journeys out of what witnesses report. It does no IO and reads no
// clock: reports carry their time, and `advance` says how late it is. Every report becomes part of
// one journey or is counted as something else; what had to be let go is counted too. What a report
// costs depends on how many witnesses follow its service, and not on how much there is besides.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { ClockAnchor, SkewInterval } from "./clock-skew.ts";
import { ClockSkews } from "./clock-skews.ts";
import type { EndpointTrack, Taken } from "./endpoint-track.ts";
import { EndpointTracks } from "./endpoint-tracks.ts";
import { Followers } from "./followers.ts";
import { GoneTracks } from "./gone-tracks.ts";
import type { Journey, Outcome } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import {
  abandonAfterMs,
  defaultBudgetMs,
  defaultEndpointsMax,
  defaultPendingMax,
  type JourneyLimits,
  trafficQuietMs,
} from "./journey-limits.ts";
import type { OpenJourney } from "./open-journey.ts";
import { isAwaited, outlookOf } from "./outlook.ts";
import { PendingJourneys } from "./pending-journeys.ts";
import {
  noReports,
  noRequests,
  type ReportCount,
  type ReportCounts,
  type RequestCounts,
} from "./report-counts.ts";
import { type RequestCount, requestOwners } from "./request-owners.ts";
import { isOfCluster, Strangers, strangersShare } from "./strangers.ts";
import { UnsettledTracks } from "./unsettled-tracks.ts";
import type { OldestPending } from "./waiting-hops.ts";
import {
  type FollowedService,
  type ServiceRef,
  type TrafficReport,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "./witness.ts";

export interface JourneysOptions extends JourneyLimits {
  /** Called synchronously. */
  readonly onEvent: (event: JourneyEvent) => void;
  /** All that a witness had to tell until then has been told; undefined where nobody can say. */
  readonly provedAt?: (witness: Witness) => MonotonicMs | undefined;
  /** Since when words on the endpoint's address are held back, by somebody who weighs them first. */
  readonly heldSince?: (endpoint: WitnessedEndpoint) => MonotonicMs | undefined;
  /** With it the clusters' own times are compared with the observer's. */
  readonly anchor?: ClockAnchor;
}

export class Journeys implements WitnessSink {
  readonly #onEvent: (event: JourneyEvent) => void;
  readonly #provedAt: (witness: Witness) => MonotonicMs | undefined;
  readonly #heldSince: (endpoint: WitnessedEndpoint) => MonotonicMs | undefined;
  readonly #limits: Required<JourneyLimits>;
  readonly #tracks = new EndpointTracks();
  readonly #followers = new Followers();
  readonly #pending = new PendingJourneys();
  readonly #unsettled = new UnsettledTracks();
  /** Of which some report may be of one change or another. */
  readonly #undecided = new UnsettledTracks();
  readonly #gone = new GoneTracks();
  readonly #strangers = new Strangers();
  readonly #skews: ClockSkews;
  readonly #counts: Record<ReportCount, number> = { ...noReports };
  readonly #requestCounts: Record<RequestCount, number> = { ...noRequests };
  #lastId = 0;
  /** The latest instant that anybody has named. */
  #now: MonotonicMs = -Infinity as MonotonicMs;

  constructor({ onEvent, provedAt, heldSince, anchor, ...limits }: JourneysOptions) {
    this.#onEvent = onEvent;
    this.#provedAt = provedAt ?? (() => undefined);
    this.#heldSince = heldSince ?? (() => undefined);
    this.#skews = new ClockSkews(anchor);
    this.#limits = {
      budgetMs: defaultBudgetMs,
      endpointsMax: defaultEndpointsMax,
      pendingMax: defaultPendingMax,
      ...limits,
    };
  }

  get counts(): ReportCounts {
    return { ...this.#counts };
  }

  /** What became of the requests that logs have told of. */
  get requestCounts(): RequestCounts {
    return { ...this.#requestCounts };
  }

  /** Whether some cluster has a service of this name, `namespace/name`, as far as is known now. */
  isService(service: string): boolean {
    return this.#followers.isInCluster(service);
  }

  /**
   * The endpoint as the clusters' own watches know it, by its address or else by its pod, whose copy
   * may have another address; undefined when they do not.
   */
  locate(endpoint: WitnessedEndpoint): WitnessedEndpoint | undefined {
    const isOwn = (track: EndpointTrack): boolean => !this.#strangers.has(track);
    return this.#tracks.locate(endpoint, isOwn);
  }

  /** Whether the clusters' own watches know endpoints of it; of any cluster where none is named. */
  hasEndpoints({ cluster, service }: ServiceRef): boolean {
    return this.#tracks
      .ofService(service)
      .some(
        (track) =>
          !track.changes.isGone &&
          !this.#strangers.has(track) &&
          (cluster === undefined || track.endpoint.cluster === cluster),
      );
  }

  /** Journeys that are not over, oldest first, at most so many. */
  pending(most = Number.POSITIVE_INFINITY): readonly Journey[] {
    return this.#pending.first(most).map((journey) => this.#snapshot(journey));
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestPending(now: MonotonicMs): readonly OldestPending[] {
    return this.#pending.oldestWaiting(now);
  }

  /** How far the observer's clock is from the cluster's; undefined until that can be told. */
  clockSkew(cluster: string): SkewInterval | undefined {
    return this.#skews.of(cluster)?.interval;
  }

  follow(witness: Witness, service: FollowedService): void {
    if (!this.#followers.follow(witness, service)) return;
    for (const track of this.#tracks.ofService(service.service)) {
      this.#unsettled.add(track, this.#now);
    }
    this.#reviewService(service.service);
  }

  unfollow(witness: Witness, service: ServiceRef): void {
    if (this.#followers.unfollow(witness, service)) this.#reviewService(service.service);
  }

  /** Whether the report would show a change that the witness has yet to show. */
  awaits(report: WitnessReport): boolean {
    const track = this.#tracks.find(report);
    if (track === undefined) return false;
    this.#settle(track, [report.witness], heardUntil(report));
    return track.awaits(report);
  }

  /** Since when its witness may have been cut off without knowing it; undefined when it was not. */
  missedSince(report: WitnessReport): MonotonicMs | undefined {
    const track = this.#tracks.find(report);
    if (track === undefined) return undefined;
    this.#settle(track, [report.witness], heardUntil(report));
    return track.changes.missedSince(report);
  }

  report(report: WitnessReport): void {
    const { endpoint, witness } = report;
    this.#passTo(report.at);
    if (this.#followers.learnPort(witness, endpoint)) this.#reviewService(endpoint.service);
    const known = this.#tracks.find(report);
    if (known === undefined && report.direction === "leave") {
      this.#counts.unknown += 1;
      return;
    }
    if (known === undefined && !this.#hasRoomFor(witness)) {
      this.#counts.dropped += 1;
      return;
    }
    const track = known ?? this.#tracks.add(endpoint);
    if (isOfCluster(witness)) this.#strangers.delete(track);
    else if (known === undefined) this.#strangers.add(track);
    track.identify(endpoint);
    this.#skews.heard(report);
    this.#settle(track, [witness], heardUntil(report));
    this.#tell(track, report);
  }

  /** A request that an access log tells of, in any order and however late. */
  traffic(report: TrafficReport): void {
    const all = this.#tracks.atAddress(report);
    const followed = all.filter((track) => this.#isFollowedBy(report.witness, track));
    const { type, journeys } = requestOwners(followed.length > 0 ? followed : all, report.at);
    this.#requestCounts[type] += 1;
    for (const journey of journeys) {
      if (journey.request(report)) this.#emit("shown", journey, report.witness);
      this.#review(journey);
    }
  }

  /** Finds what is stuck, settled or no longer waited for. To be called every second or so. */
  advance(now: MonotonicMs): void {
    this.#passTo(now);
    this.#settleBaselines();
    this.#settleUndecided();
    this.#forgetGone();
    for (;;) {
      const journey = this.#pending.firstDue(now);
      if (journey === undefined) return;
      this.#lookAt(journey, now);
      // Sums and differences of fractions may disagree about what is due: look only once.
      if (journey.outcome === "pending" && journey.dueAt <= now) {
        this.#pending.lookAgain(journey, now + 1);
      }
    }
  }

  #tell(track: EndpointTrack, report: WitnessReport): void {
    const taken = track.take(report, this.#followersOf(track), this.#lastId + 1);
    this.#counts[taken.type] += 1;
    this.#take(taken, track, report.witness);
  }

  #take(taken: Taken, track: EndpointTrack, witness: Witness): void {
    switch (taken.type) {
      case "opened":
        this.#opened(taken.journey);
        this.#emit("shown", taken.journey, witness);
        break;
      case "matched":
        this.#shown(taken.journeys, witness);
        if (taken.journeys.length === 0) this.#undecided.add(track, this.#now);
        break;
      case "withdrawn":
        this.#end(taken.journey, "withdrawn");
        break;
      case "baseline":
      case "earlier":
        this.#unsettled.add(track, this.#now);
        break;
      case "repeated":
        break;
    }
    this.#reviewTrack(track);
    this.#makeRoom();
  }

  #shown(journeys: readonly OpenJourney[], witness: Witness): void {
    for (const journey of journeys) {
      if (journey.outcome === "pending") this.#emit("shown", journey, witness);
    }
  }

  #opened(journey: OpenJourney): void {
    const { track } = journey;
    this.#lastId = journey.id;
    this.#pending.add(journey);
    if (journey.direction === "leave") return;
    for (const other of this.#tracks.othersAt(track)) {
      const mistaken = other.handOver(track);
      if (mistaken !== undefined) this.#end(mistaken, "withdrawn");
      this.#reviewTrack(other);
    }
  }

  /** For an endpoint that the witness is the first to name. */
  #hasRoomFor(witness: Witness): boolean {
    const { endpointsMax } = this.#limits;
    if (!isOfCluster(witness)) {
      const isRoomy = this.#strangers.size < endpointsMax * strangersShare;
      return isRoomy && this.#tracks.size < endpointsMax && this.#canStrangersPend();
    }
    if (this.#tracks.size >= endpointsMax) {
      const gone = this.#gone.takeOldest();
      const { oldest } = this.#strangers;
      if (gone !== undefined) this.#forget(gone);
      else if (oldest !== undefined) this.#dismiss(oldest);
    }
    return this.#tracks.size < endpointsMax;
  }

  #canStrangersPend(): boolean {
    return this.#pending.size < this.#limits.pendingMax * strangersShare;
  }

  /** Whatever else is told of the endpoint is then unknown. */
  #dismiss(stranger: EndpointTrack): void {
    for (const journey of stranger.changes.pending) this.#end(journey, "dropped");
    this.#forget(stranger);
    this.#counts.dismissed += 1;
  }

  #makeRoom(): void {
    if (this.#pending.size <= this.#limits.pendingMax) return;
    const { oldest } = this.#pending;
    if (oldest === undefined) return;
    this.#end(oldest, oldest.shownEverywhereAt === undefined ? "dropped" : doneAs(oldest));
  }

  /** Where witnesses still disagree a while after they began, a change of before is pending. */
  #settleBaselines(): void {
    for (const { track, since } of this.#unsettled.takeSettled(this.#now)) {
      if (this.#strangers.has(track) && !this.#canStrangersPend()) {
        this.#dismiss(track);
        continue;
      }
      const followers = this.#followersOf(track);
      const disagreement = track.disagreement(followers);
      if (disagreement === undefined) continue;
      if ((this.#provedAt(disagreement.nearest) ?? since) < since) {
        // It may have been cut off, and how it stands by its word may be long over.
        this.#unsettled.lookAgain({ track, since }, this.#now);
        continue;
      }
      const opening = { followers, since };
      this.#opened(track.openDisagreement(this.#lastId + 1, disagreement, opening));
      this.#reviewTrack(track);
      this.#makeRoom();
    }
  }

  #lookAt(journey: OpenJourney, now: MonotonicMs): void {
    const { track } = journey;
    const followers = this.#followersOf(track);
    this.#settle(track, followers, now);
    for (const witness of followers) {
      if (witness.hop === "traffic" || !isAwaited(journey, witness)) continue;
      if (!journey.becomesStuck(witness, now, this.#limits.budgetMs[witness.hop])) continue;
      this.#emit("stuck", journey, witness);
    }
    this.#reviewTrack(track);
    if (journey.outcome !== "pending") return;
    if (elapsedMs(journey.originAt, now) >= abandonAfterMs) this.#end(journey, "abandoned");
  }

  /** Who has said something that is held back has not been silent since. */
  #settle(track: EndpointTrack, witnesses: readonly Witness[], until: MonotonicMs): void {
    const heldSince = this.#heldSince(track.endpoint);
    const now = heldSince !== undefined && heldSince < until ? heldSince : until;
    const followers = this.#followersOf(track);
    const provedAt = this.#provedAt;
    const { shown, news } = track.settle({ now, witnesses, followers, provedAt });
    for (const [journey, { witness }] of shown) this.#shown([journey], witness);
    for (const report of news) {
      // It counted as a match as long as it was undecided.
      this.#counts.matched -= 1;
      this.#tell(track, report);
    }
  }

  #settleUndecided(): void {
    for (const { track } of this.#undecided.takeSettled(this.#now)) {
      this.#settle(track, this.#followersOf(track), this.#now);
      if (track.isUndecided) this.#undecided.add(track, this.#now);
      this.#reviewTrack(track);
    }
  }

  #reviewService(service: string): void {
    for (const track of this.#tracks.ofService(service)) this.#reviewTrack(track);
  }

  #reviewTrack(track: EndpointTrack): void {
    for (const journey of track.changes.pending) this.#review(journey);
    this.#forgetIfGone(track);
  }

  /** Who is still waited for, and when the journey has to be looked at again. */
  #review(journey: OpenJourney): void {
    const { track } = journey;
    const outlook = outlookOf(journey, this.#followersOf(track), this.#limits.budgetMs);
    this.#pending.waitAt(journey, journey === track.changes.current ? outlook.waitingAt : []);
    if (outlook.waitingAt.length > 0) {
      journey.shownEverywhereAt = undefined;
      this.#pending.lookAgain(journey, outlook.dueAt);
      return;
    }
    journey.shownEverywhereAt ??= this.#now;
    const quietFrom = Math.max(journey.shownEverywhereAt, journey.lastRequestAt);
    const quietAt = Math.min(quietFrom + trafficQuietMs, outlook.dueAt);
    if (outlook.waitsForRequests && this.#now < quietAt) this.#pending.lookAgain(journey, quietAt);
    else this.#end(journey, doneAs(journey));
  }

  #end(journey: OpenJourney, outcome: Outcome): void {
    const { track } = journey;
    for (const witness of this.#followersOf(track)) {
      if (witness.hop !== "traffic" || !journey.endRequests(witness)) continue;
      this.#emit("shown", journey, witness);
    }
    journey.outcome = outcome;
    this.#pending.delete(journey);
    track.changes.letGo(this.#now);
    this.#onEvent({ type: "over", journey: this.#snapshot(journey) });
    journey.forget();
    this.#forgetIfGone(track);
  }

  #forgetIfGone(track: EndpointTrack): void {
    if (!track.changes.isGone) this.#gone.delete(track);
    else if (track.changes.areMissed(this.#now)) this.#gone.add(track, this.#now);
    else this.#forget(track);
  }

  #forgetGone(): void {
    for (;;) {
      const track = this.#gone.takeOld(this.#now);
      if (track === undefined) return;
      this.#forget(track);
    }
  }

  #forget(track: EndpointTrack): void {
    if (!this.#tracks.remove(track)) return;
    this.#gone.delete(track);
    this.#unsettled.delete(track);
    this.#undecided.delete(track);
    this.#strangers.delete(track);
  }

  #emit(type: "shown" | "stuck", journey: OpenJourney, witness: Witness): void {
    const hop = journey.hopTime(witness);
    this.#onEvent({ type, journey: this.#snapshot(journey), hop });
  }

  #snapshot(journey: OpenJourney): Journey {
    return journey.snapshot({
      followers: this.#followersOf(journey.track),
      clusterTime: (stamp) => this.#skews.timeOf(stamp, journey),
    });
  }

  #isFollowedBy(witness: Witness, track: EndpointTrack): boolean {
    return this.#followersOf(track).some((one) => witnessId(one) === witnessId(witness));
  }

  #followersOf(track: EndpointTrack): readonly Witness[] {
    return track.followers(this.#followers);
  }

  #passTo(now: MonotonicMs): void {
    if (now > this.#now) this.#now = now;
  }
}

function doneAs(journey: OpenJourney): Outcome {
  return journey.track.changes.isSuperseded(journey) ? "superseded" : "complete";
}

/** That its witness said nothing counts for as long as it was heard. */
function heardUntil({ at, notBefore }: WitnessReport): MonotonicMs {
  return notBefore ?? at;
}
