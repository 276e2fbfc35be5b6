// The observer's core: makes journeys out of what witnesses report. It does no IO and reads no
// clock: reports carry their time, and `advance` says how late it is. Every report becomes part of
// one journey or is counted as something else; what had to be let go is counted too. What a report
// costs depends on how many witnesses follow its service, and not on how much there is besides.
import type { MonotonicMs } from "../environment/clock.ts";
import { handOver } from "./address-handover.ts";
import type { ClockAnchor, SkewInterval } from "./clock-skew.ts";
import { ClockSkews } from "./clock-skews.ts";
import type { EndpointTrack, Taken } from "./endpoint-track.ts";
import { Followers } from "./followers.ts";
import type { Journey } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import {
  defaultBudgetMs,
  defaultEndpointsMax,
  defaultPendingMax,
  type JourneyLimits,
} from "./journey-limits.ts";
import { KnownEndpoints } from "./known-endpoints.ts";
import { LiveJourneys } from "./live-journeys.ts";
import type { OpenJourney } from "./open-journey.ts";
import {
  noReports,
  noRequests,
  type ReportCount,
  type ReportCounts,
  type RequestCounts,
} from "./report-counts.ts";
import { type RequestCount, requestOwners } from "./request-owners.ts";
import { strangersShare } from "./strangers.ts";
import { UnsettledTracks } from "./unsettled-tracks.ts";
import type { OldestPending } from "./waiting-hops.ts";
import {
  type FollowedService,
  type ServiceRef,
  type TrafficReport,
  type UnfollowedService,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  type WitnessSink,
  witnessId,
} from "./witness.ts";

export interface JourneysOptions extends JourneyLimits {
  /** Called synchronously. */
  readonly onEvent: (event: JourneyEvent) => void;
  /**
   * All that a witness had to tell of the service, `namespace/name`, until then has been told;
   * undefined where nobody can say.
   */
  readonly provedAt?: (witness: Witness, service: string) => MonotonicMs | undefined;
  /** Since when words on the endpoint's address are held back, by somebody who weighs them first. */
  readonly heldSince?: (endpoint: WitnessedEndpoint) => MonotonicMs | undefined;
  /** With it the clusters' own times are compared with the observer's. */
  readonly anchor?: ClockAnchor;
}

export class Journeys implements WitnessSink {
  readonly #provedAt: (witness: Witness, service: string) => MonotonicMs | undefined;
  readonly #heldSince: (endpoint: WitnessedEndpoint) => MonotonicMs | undefined;
  readonly #known: KnownEndpoints;
  readonly #live: LiveJourneys;
  readonly #followers = new Followers();
  readonly #unsettled = new UnsettledTracks();
  /** Of which some report may be of one change or another. */
  readonly #undecided = new UnsettledTracks();
  readonly #skews: ClockSkews;
  readonly #counts: Record<ReportCount, number> = { ...noReports };
  readonly #requestCounts: Record<RequestCount, number> = { ...noRequests };
  #lastId = 0;
  /** The latest instant that anybody has named. */
  #now: MonotonicMs = -Infinity as MonotonicMs;

  constructor(options: JourneysOptions) {
    const { onEvent, anchor } = options;
    const { budgetMs = defaultBudgetMs } = options;
    const { endpointsMax = defaultEndpointsMax, pendingMax = defaultPendingMax } = options;
    this.#provedAt = options.provedAt ?? (() => undefined);
    this.#heldSince = options.heldSince ?? (() => undefined);
    this.#skews = new ClockSkews(anchor);
    this.#known = new KnownEndpoints({
      endpointsMax,
      canStrangersPend: () => this.#live.size < pendingMax * strangersShare,
      onDismissed: (stranger) => this.#dismissed(stranger),
      onForgotten: (track) => {
        this.#unsettled.delete(track);
        this.#undecided.delete(track);
      },
    });
    this.#live = new LiveJourneys({
      budgetMs,
      pendingMax,
      onEvent,
      onOver: (track) => this.#known.review(track, this.#now),
      followersOf: (track) => this.#followersOf(track),
      clusterTime: (stamp, journey) => this.#skews.timeOf(stamp, journey),
    });
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
    return this.#known.locate(endpoint);
  }

  /** Whether the clusters' own watches know endpoints of it; of any cluster where none is named. */
  hasEndpoints(service: ServiceRef): boolean {
    return this.#known.hasOf(service);
  }

  /** Journeys that are not over, oldest first, at most so many. */
  pending(most = Number.POSITIVE_INFINITY): readonly Journey[] {
    return this.#live.first(most);
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestPending(now: MonotonicMs): readonly OldestPending[] {
    return this.#live.oldestWaiting(now);
  }

  /** How far the observer's clock is from the cluster's; undefined until that can be told. */
  clockSkew(cluster: string): SkewInterval | undefined {
    return this.#skews.of(cluster)?.interval;
  }

  follow(witness: Witness, service: FollowedService): void {
    if (!this.#followers.follow(witness, service)) return;
    for (const track of this.#known.ofService(service.service)) {
      this.#unsettled.add(track, this.#now);
    }
    this.#reviewService(service.service);
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    const { forGood = false } = service;
    if (!this.#followers.unfollow(witness, service) && !forGood) return;
    if (forGood) this.#forgetWitness(witness, service);
    else if (witness.hop === "routed") this.#loseReplica(witness, service.service);
    this.#reviewService(service.service);
  }

  /** Whether the reports, of one witness on one endpoint, would show what it has yet to show. */
  awaits(reports: readonly WitnessReport[]): boolean {
    const [first] = reports;
    if (first === undefined) return true;
    const track = this.#known.find(first);
    if (track === undefined) return false;
    this.#settle(track, [first.witness], heardUntil(first));
    return track.matches.awaits(reports);
  }

  /** Since when its witness may have been cut off without knowing it; undefined when it was not. */
  missedSince(report: WitnessReport): MonotonicMs | undefined {
    const track = this.#known.find(report);
    if (track === undefined) return undefined;
    this.#settle(track, [report.witness], heardUntil(report));
    // Of what it told late it may still have to tell the rest.
    return track.matches.undecided(report.witness)?.notBefore ?? track.changes.missedSince(report);
  }

  report(report: WitnessReport): void {
    const { witness } = report;
    this.#passTo(report.at);
    const known = this.#known.find(report);
    if (known === undefined && report.direction === "leave") {
      this.#counts.unknown += 1;
      return;
    }
    const track = this.#known.admit(report, known);
    if (track === undefined) {
      this.#counts.dropped += 1;
      return;
    }
    if (known === undefined) {
      for (const lost of this.#followers.lostOf(report.endpoint.service)) {
        track.changes.expect(lost, report.at);
      }
    }
    this.#skews.heard(report);
    this.#settle(track, [witness], heardUntil(report));
    this.#tell(track, report);
  }

  /** A request that an access log tells of, in any order and however late. */
  traffic(report: TrafficReport): void {
    const all = this.#known.atAddress(report);
    const followed = all.filter((track) => this.#isFollowedBy(report.witness, track));
    const { type, journeys } = requestOwners(followed.length > 0 ? followed : all, report.at);
    this.#requestCounts[type] += 1;
    for (const journey of journeys) {
      if (journey.request(report)) this.#live.shown([journey], report.witness);
      this.#live.review(journey, this.#now);
    }
  }

  /** Finds what is stuck, settled or no longer waited for. To be called every second or so. */
  advance(now: MonotonicMs): void {
    this.#passTo(now);
    this.#settleBaselines();
    this.#settleUndecided();
    this.#known.forgetGone(this.#now);
    for (;;) {
      const journey = this.#live.firstDue(now);
      if (journey === undefined) return;
      this.#settle(journey.track, this.#followersOf(journey.track), now);
      this.#live.findStuck(journey, now);
      this.#reviewTrack(journey.track);
      this.#live.looked(journey, now);
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
        this.#live.shown([taken.journey], witness);
        break;
      case "matched":
        this.#live.shown(taken.journeys, witness);
        if (taken.journeys.length === 0) this.#undecided.add(track, this.#now);
        break;
      case "withdrawn":
        this.#live.end(taken.journey, "withdrawn", this.#now);
        break;
      case "baseline":
      case "earlier":
        this.#unsettled.add(track, this.#now);
        break;
      case "repeated":
        break;
    }
    this.#reviewTrack(track);
    this.#live.makeRoom(this.#now);
  }

  #opened(journey: OpenJourney): void {
    const { track } = journey;
    this.#lastId = journey.id;
    this.#live.add(journey);
    // Either may be told first: that one pod has left, or that another has its address.
    if (journey.direction === "leave") {
      for (const later of this.#known.laterAt(track)) this.#handOver(track, later);
    } else {
      for (const other of this.#known.othersAt(track)) this.#handOver(other, track);
    }
  }

  #handOver(before: EndpointTrack, successor: EndpointTrack): void {
    const mistaken = handOver(before, successor);
    if (mistaken !== undefined) this.#live.end(mistaken, "withdrawn", this.#now);
    this.#reviewTrack(before);
    this.#reviewTrack(successor);
  }

  #dismissed(stranger: EndpointTrack): void {
    for (const journey of stranger.changes.pending) this.#live.end(journey, "dropped", this.#now);
    this.#counts.dismissed += 1;
  }

  /** Where witnesses still disagree a while after they began, a change of before is pending. */
  #settleBaselines(): void {
    for (const { track, since } of this.#unsettled.takeSettled(this.#now)) {
      if (!this.#known.mayPend(track)) {
        this.#known.dismiss(track);
        continue;
      }
      const followers = this.#followersOf(track);
      const disagreement = track.disagreement(followers);
      if (disagreement === undefined) continue;
      const { endpoint } = track;
      const isProved = (this.#provedAt(disagreement.nearest, endpoint.service) ?? since) >= since;
      if (!isProved || this.#heldSince(endpoint) !== undefined) {
        // It may have been cut off, and how it stands by its word be long over, or about to be.
        this.#unsettled.lookAgain({ track, since }, this.#now);
        continue;
      }
      const opening = { followers, since };
      this.#opened(track.openDisagreement(this.#lastId + 1, disagreement, opening));
      this.#reviewTrack(track);
      this.#live.makeRoom(this.#now);
    }
  }

  /** Who has said something that is held back has not been silent since. */
  #settle(track: EndpointTrack, witnesses: readonly Witness[], until: MonotonicMs): void {
    const heldSince = this.#heldSince(track.endpoint);
    const now = heldSince !== undefined && heldSince < until ? heldSince : until;
    const followers = this.#followersOf(track);
    const areHeld = heldSince !== undefined;
    const provedAt = this.#provedAt;
    const { shown, news } = track.settle({ now, witnesses, followers, areHeld, provedAt });
    for (const [journey, { witness }] of shown) this.#live.shown([journey], witness);
    for (const report of news) {
      // It counted as a match as long as it was undecided.
      this.#counts.matched -= 1;
      this.#tell(track, report);
    }
  }

  #settleUndecided(): void {
    for (const { track } of this.#undecided.takeSettled(this.#now)) {
      this.#settle(track, this.#followersOf(track), this.#now);
      if (track.matches.isUndecided) this.#undecided.add(track, this.#now);
      this.#reviewTrack(track);
    }
  }

  /** It may tell later what it has not told yet. */
  #loseReplica(witness: Witness, service: string): void {
    for (const { changes } of this.#known.ofService(service)) {
      if (changes.sightOf(witness) === undefined) changes.expect(witness, this.#now);
    }
  }

  /** It will say nothing more, or nothing more of these ports. */
  #forgetWitness(witness: Witness, { service, ports }: UnfollowedService): void {
    for (const track of this.#known.ofService(service)) {
      if (ports?.includes(track.endpoint.port) === false) continue;
      const { shown, withdrawn } = track.forget(witness);
      this.#live.shown(shown, witness);
      if (withdrawn !== undefined) this.#live.end(withdrawn, "withdrawn", this.#now);
    }
  }

  #reviewService(service: string): void {
    for (const track of this.#known.ofService(service)) this.#reviewTrack(track);
  }

  #reviewTrack(track: EndpointTrack): void {
    for (const journey of track.changes.pending) this.#live.review(journey, this.#now);
    this.#known.review(track, this.#now);
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

/** That its witness said nothing counts for as long as it was heard. */
function heardUntil({ at, notBefore }: WitnessReport): MonotonicMs {
  return notBefore ?? at;
}
