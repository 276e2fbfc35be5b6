// The timeline: folds the observations of witnesses into changes with their time at every hop. It
// does no IO and reads no clock: observations carry their time, and `advance` passes the current
// time. The cost of an observation depends on the number of witnesses of its service, and not on
// the size of the rest.
//
// The reference of an endpoint is the witness nearest to its pod: its steps are the changes. The
// steps of all other witnesses are matched to them (`line.ts`). If a witness disagrees with the
// reference and no change explains it, there is a change in flight with an unknown start.
import type { MonotonicMs } from "../environment/clock.ts";
import { type Beginning, Change } from "./change.ts";
import type { ClockAnchor, SkewInterval } from "./clock-skew.ts";
import { ClockSkews } from "./clock-skews.ts";
import { type EarlierChange, EarlierChanges } from "./earlier-changes.ts";
import { type EndpointView, endpointViews } from "./endpoint-view.ts";
import type { Journey } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import {
  defaultBudgetMs,
  defaultEndpointsMax,
  defaultPendingMax,
  type JourneyLimits,
  settledAtOnceMax,
  settleMs,
  strangersShare,
} from "./journey-limits.ts";
import { KeptLines } from "./kept-lines.ts";
import { LateObservations } from "./late-observations.ts";
import {
  aheadOf,
  type Cursor,
  follow,
  type Known,
  type Line,
  type Settled,
  standBefore,
} from "./line.ts";
import { LiveChanges } from "./live-changes.ts";
import type { Observation, ObservationSink } from "./observation.ts";
import type { OldestPending } from "./pending-changes.ts";
import type { Place } from "./place.ts";
import { type RequestCounts, requestOwners } from "./request-owners.ts";
import { Standings } from "./standings.ts";
import {
  type Direction,
  type FollowedService,
  isOfCluster,
  isSameWitness,
  type ServiceRef,
  type TrafficReport,
  type UnfollowedService,
  type Witness,
  type WitnessedEndpoint,
} from "./witness.ts";

export interface TimelineOptions extends JourneyLimits {
  /** Called synchronously. */
  readonly onEvent: (event: JourneyEvent) => void;
  /**
   * The watermark: all that was so then at the witness, of the service (`namespace/name`), has been
   * reported. Undefined for a witness that reports no such thing.
   */
  readonly watermark?: (witness: Witness, service: string) => MonotonicMs | undefined;
  /** Clusters are observed, though none of them may have been listed yet; proxies open no changes then. */
  readonly observesClusters?: boolean;
  /** With it the clusters' own times are compared with the observer's. */
  readonly anchor?: ClockAnchor;
}

/** The outcome of observations; and `dismissed`: endpoints dropped for lack of room. */
export type ObservationCount =
  | "baseline"
  | "opened"
  | "shown"
  | "repeated"
  | "cancelled"
  | "unknown"
  | "dropped"
  | "dismissed";

export type ObservationCounts = Readonly<Record<ObservationCount, number>>;

export const noObservations: ObservationCounts = {
  baseline: 0,
  opened: 0,
  shown: 0,
  repeated: 0,
  cancelled: 0,
  unknown: 0,
  dropped: 0,
  dismissed: 0,
};

export class Timeline implements ObservationSink {
  readonly #watermark: (witness: Witness, service: string) => MonotonicMs | undefined;
  readonly #pendingMax: number;
  readonly #standings = new Standings();
  readonly #places = this.#standings.places;
  readonly #expectations = this.#standings.expectations;
  readonly #late = new LateObservations();
  readonly #earlier = new EarlierChanges();
  readonly #live: LiveChanges;
  readonly #kept: KeptLines;
  readonly #skews: ClockSkews;
  /** Lines of which some witness may disagree with the reference, oldest first, and since when. */
  readonly #unsettled = new Map<Line, MonotonicMs>();
  readonly #counts: Record<ObservationCount, number> = { ...noObservations };
  readonly #requestCounts = { joined: 0, left: 0, ordinary: 0, unknown: 0 };
  #lastId = 0;
  /** The latest instant that was named. */
  #now: MonotonicMs = -Infinity as MonotonicMs;

  constructor(options: TimelineOptions) {
    const { onEvent, budgetMs = defaultBudgetMs, pendingMax = defaultPendingMax } = options;
    this.#watermark = options.watermark ?? (() => undefined);
    this.#pendingMax = pendingMax;
    if (options.observesClusters === true) this.#expectations.expectClusters();
    this.#skews = new ClockSkews(options.anchor);
    this.#live = new LiveChanges({
      standings: this.#standings,
      budgetMs,
      pendingMax,
      onEvent,
      clusterTime: (stamp, { line: { endpoint }, originAt }) =>
        this.#skews.timeOf(stamp, { endpoint, originAt }),
    });
    this.#kept = new KeptLines({
      standings: this.#standings,
      endpointsMax: options.endpointsMax ?? defaultEndpointsMax,
      canStrangersPend: () => this.#canStrangersPend(),
      onDismissed: (line) => {
        this.#live.drop(line);
        this.#counts.dismissed += 1;
      },
      onForgotten: (line) => this.#unsettled.delete(line),
    });
  }

  get counts(): ObservationCounts {
    return { ...this.#counts };
  }

  /** How many endpoints are kept. */
  get size(): number {
    return this.#places.size;
  }

  /** The outcome of the requests in access logs. */
  get requestCounts(): RequestCounts {
    return { ...this.#requestCounts };
  }

  /** Whether some cluster has a service of this name, `namespace/name`, as far as is known now. */
  isService(service: string): boolean {
    return this.#expectations.isInCluster(service);
  }

  /**
   * The endpoint as the clusters' own watches know it, by its address or else by its pod, whose copy
   * may have another address; undefined when they do not.
   */
  locate(endpoint: WitnessedEndpoint): WitnessedEndpoint | undefined {
    return this.#places.locate(endpoint, (line) => !this.#kept.isStranger(line));
  }

  /** Whether the clusters' own watches know endpoints of it; of any cluster where none is named. */
  hasEndpoints(service: ServiceRef): boolean {
    const isThere = (line: Line): boolean =>
      !this.#kept.isStranger(line) && line.cursors.some(({ direction }) => direction === "join");
    return this.#places.has(service, isThere);
  }

  /** The services, `namespace/name`, that the clusters' own watches know to have this endpoint. */
  servicesAt(spot: Pick<WitnessedEndpoint, "address" | "port">): readonly string[] {
    return this.#places.servicesAt(spot, (line) => !this.#kept.isStranger(line));
  }

  /** Each endpoint of the service (`namespace/name`) as each witness shows it. */
  endpointsOf(service: string): readonly EndpointView[] {
    return endpointViews(service, this.#standings);
  }

  /** Services with endpoints, or with some that are leaving. */
  get services(): Iterable<string> {
    return this.#places.services;
  }

  /** Changes that are not over, oldest first, at most so many. */
  pending(most = Number.POSITIVE_INFINITY): readonly Journey[] {
    return this.#live.first(most);
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestPending(now: MonotonicMs): readonly OldestPending[] {
    return this.#live.oldestWaiting(now);
  }

  /** How far the observer's clock is from the cluster's; undefined until that is known. */
  clockSkew(cluster: string): SkewInterval | undefined {
    return this.#skews.of(cluster)?.interval;
  }

  /** Changes that an earlier run left in flight; to be called before anything is reported. */
  remember(changes: readonly EarlierChange[]): void {
    this.#earlier.add(changes);
  }

  follow(witness: Witness, service: FollowedService): void {
    this.#late.keepFollowing(witness, service);
    if (!this.#expectations.follow(witness, service, this.#now)) return;
    for (const place of this.#places.ofService(service.service)) {
      for (const line of place.lines) this.#unsettled.set(line, this.#now);
      this.#review(place);
    }
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    if (this.#late.hasOf(witness, service.service)) {
      this.#late.unfollowLater(witness, service);
      return;
    }
    const { forGood = false, ports } = service;
    if (!this.#expectations.unfollow(witness, service) && !forGood) return;
    for (const place of Array.from(this.#places.ofService(service.service))) {
      for (const line of place.lines) {
        if (ports?.includes(line.endpoint.port) === false) continue;
        this.#settleAll(line, witness);
        if (forGood) line.forget(witness);
      }
      this.#review(place);
    }
  }

  report(observation: Observation): void {
    this.#passTo(observation.at);
    if (this.#mustWait(observation)) this.#late.add(observation);
    else this.#take(observation);
  }

  /** A request in an access log, in any order and however late. */
  traffic(report: TrafficReport): void {
    const lines = this.#places
      .atAddress(report)
      .flatMap((place) => place.lines)
      .filter((line) => line.own.length > 0 || this.#standings.isReported(line));
    const isFollowed = (line: Line): boolean =>
      this.#standings.expectedAt(line).some((one) => isSameWitness(one, report.witness));
    const followed = lines.filter(isFollowed);
    const asked = followed.length > 0 ? followed : lines;
    const { type, changes } = requestOwners(asked, report.at, this.#standings.stateOf);
    this.#requestCounts[type] += 1;
    for (const change of changes) {
      if (change.request(report)) this.#live.requestShown(change, report.witness);
      this.#reviewChange(change);
    }
  }

  /** Time has passed. To be called every second or so. */
  advance(now: MonotonicMs): void {
    this.#passTo(now);
    this.#releaseLate();
    this.#findDisagreements();
    for (const change of this.#live.due(now)) this.#look(change);
  }

  /** No more reports follow: waiting observations are taken as they are. */
  end(now: MonotonicMs): void {
    this.#passTo(now);
    for (const released of this.#late.release(() => Infinity as MonotonicMs)) {
      for (const observation of released.observations) this.#take(observation);
    }
  }

  #mustWait(observation: Observation): boolean {
    const { witness, endpoint, notBefore, baseline } = observation;
    if (baseline === true) return false;
    if (this.#late.has(observation)) return true;
    return notBefore !== undefined && this.#watermark(witness, endpoint.service) !== undefined;
  }

  #releaseLate(): void {
    if (this.#late.size === 0) return;
    const watermark = (witness: Witness, service: string): MonotonicMs =>
      this.#watermark(witness, service) ?? this.#now;
    for (const { witness, observations, cancelled, unfollowed } of this.#late.release(watermark)) {
      this.#counts.cancelled += cancelled;
      for (const observation of observations) this.#take(observation);
      for (const service of unfollowed) this.unfollow(witness, service);
    }
  }

  #take(observation: Observation): void {
    const line = this.#lineOf(observation);
    if (line === undefined) return;
    this.#skews.note(observation);
    line.podName ??= observation.podName;
    const { place } = line;
    const changes = this.#standings.changesOf(line);
    const known = this.#adopt(place, line, observation.witness);
    if (observation.baseline === true) this.#takeBaseline(line, known, observation, changes);
    else if (known?.direction === observation.direction) this.#counts.repeated += 1;
    else this.#takeStep(place, line, known, observation);
    this.#review(place);
    this.#live.makeRoom();
  }

  /** Undefined when it is not followed: the end of something never seen, or there is no room. */
  #lineOf({ witness, endpoint, direction }: Observation): Line | undefined {
    const isKnown = this.#places.at(endpoint)?.find(endpoint) !== undefined;
    if (!isKnown && direction === "leave") {
      this.#counts.unknown += 1;
      return undefined;
    }
    const line = this.#kept.admit(witness, endpoint);
    if (line === undefined) this.#counts.dropped += 1;
    return line;
  }

  /** The cursor of the witness on the line, which it was perhaps assumed to have on another one. */
  #adopt(place: Place, line: Line, witness: Witness): Cursor | undefined {
    for (const other of place.lines) {
      const assumed = other.cursorOf(witness);
      if (other === line || assumed?.origin !== "assumed") continue;
      other.forget(witness);
      if (line.cursorOf(witness) === undefined) line.cursors.push(assumed);
    }
    return line.cursorOf(witness);
  }

  #takeBaseline(
    line: Line,
    known: Cursor | undefined,
    { witness, direction, at }: Observation,
    changes: readonly Change[],
  ): void {
    this.#counts.baseline += 1;
    this.#unsettled.set(line, this.#now);
    if (known === undefined) {
      line.begin(witness, { direction, at, origin: "first" }, changes);
      return;
    }
    Object.assign(known, { direction, at, origin: "first" });
    standBefore(known, changes.at(-1));
  }

  #takeStep(place: Place, line: Line, known: Cursor | undefined, step: Observation): void {
    const { witness, direction, at } = step;
    const cursor = known ?? this.#assume(line, witness, opposite(direction));
    if (cursor.at < at) this.#endDisagreement(place, line, cursor);
    cursor.direction = direction;
    cursor.at = at;
    cursor.origin = "step";
    cursor.steps = [...cursor.steps, step];
    cursor.alone = step;
    if (this.#opens(line, step)) {
      const { notBefore, endpoint } = step;
      const current = this.#watermark(witness, endpoint.service) ?? (-Infinity as MonotonicMs);
      const aheadFrom = notBefore ?? earlier(current, at);
      this.#counts.opened += 1;
      this.#open(place, line, { direction, at, notBefore, aheadFrom }, cursor);
      return;
    }
    const changes = this.#standings.changesOf(line);
    const settled = follow(cursor, changes, this.#knownOf(line));
    this.#emitShown(settled);
    const isAlone = settled.length === 0 && aheadOf(cursor, changes).length === 0;
    if (isAlone) this.#unsettled.set(line, this.#now);
  }

  /** Whether a step is a change: of the reference, unless it is behind others that stand for it. */
  #opens(line: Line, { witness, direction }: Observation): boolean {
    const reference = this.#standings.referenceOf(line);
    // Proxies act on what they alone have seen: without a reference nothing says what it was.
    const isOpener =
      reference === undefined ? witness.hop !== "routed" : reference.hop === witness.hop;
    if (!isOpener) return false;
    return this.#standings.changesOf(line).at(-1)?.direction !== direction;
  }

  /** A witness that had it otherwise from the first comes to agree: that ends a change of before. */
  #endDisagreement(place: Place, line: Line, cursor: Cursor): void {
    if (cursor.origin === "step" || cursor.direction === this.#standings.stateOf(line)) return;
    const reference = this.#standings.referenceOf(line);
    if (reference === undefined || reference.hop === cursor.witness.hop) return;
    if (!isOfCluster(reference)) return;
    if (aheadOf(cursor, this.#standings.changesOf(line)).length > 0) return;
    this.#openDisagreement(place, line, [cursor], cursor.at);
  }

  #open(place: Place, line: Line, beginning: Beginning, opener?: Cursor): Change {
    this.#expectAll(place, line);
    this.#lastId += 1;
    const change = new Change(this.#lastId, line, beginning);
    this.#live.add(change);
    if (opener !== undefined) this.#followOn(line, opener, change);
    const shown = [line, ...place.coveringOf(line)];
    if (beginning.isDisagreement) {
      for (const { cursors } of shown) {
        for (const cursor of cursors) standBefore(cursor, change);
      }
      this.#live.found(change);
    }
    for (const one of shown) {
      for (const cursor of one.cursors) this.#followOn(one, cursor);
    }
    this.#live.bound(line);
    return change;
  }

  /** Of an address it is of the pod that has it, or had it last. */
  #openDisagreement(place: Place, line: Line, cursors: readonly Cursor[], at: MonotonicMs): Change {
    const direction = this.#standings.stateOf(line);
    const holders = this.#standings.isReported(line) ? [] : place.coveredBy(line);
    const owner = holders.findLast((one) => this.#standings.stateOf(one) === direction) ?? line;
    const last = owner.own.at(-1);
    // A pending change of this direction is the one that the witness has yet to show, unless it has
    // shown it.
    const isSame = last?.outcome === "pending" && last.direction === direction;
    if (isSame && !cursors.some(({ witness }) => last.isShownBy(witness))) return last;
    const earlier = this.#earlierOf(owner, direction, cursors);
    return this.#open(place, owner, {
      direction,
      at,
      aheadFrom: at,
      isDisagreement: true,
      earlier,
    });
  }

  /**
   * Changes in flight before this run: nothing has happened to the endpoint since the first lists.
   */
  #earlierOf(
    line: Line,
    direction: Direction,
    cursors: readonly Cursor[],
  ): EarlierChange | undefined {
    const isOfStart = line.own.length === 0 && cursors.every(({ origin }) => origin !== "step");
    return isOfStart ? this.#earlier.take(line.endpoint, direction) : undefined;
  }

  #followOn(line: Line, cursor: Cursor, opened?: Change): void {
    this.#emitShown(follow(cursor, this.#standings.changesOf(line), this.#knownOf(line)), opened);
  }

  /** Where witnesses disagree with a reference that is proved current, a change is in flight. */
  #findDisagreements(): void {
    let left = Math.min(this.#unsettled.size, settledAtOnceMax);
    const known = new Map<readonly Witness[], MonotonicMs | undefined>();
    for (const [line, since] of this.#unsettled) {
      if (left === 0) return;
      left -= 1;
      const expected = this.#standings.expectedAt(line);
      const currentAt = known.has(expected) ? known.get(expected) : this.#referenceCurrentAt(line);
      known.set(expected, currentAt);
      this.#unsettled.delete(line);
      const isProved = currentAt === undefined ? this.#now - since >= settleMs : currentAt > since;
      if (isProved) this.#findDisagreement(line);
      // Behind all others, so that a cluster that is cut off keeps no other waiting.
      else this.#unsettled.set(line, since);
    }
  }

  #findDisagreement(line: Line): void {
    const { place } = line;
    if (!place.lines.includes(line)) return;
    if (this.#standings.referenceOf(line) === undefined || this.#isAgreed(line)) return;
    if (this.#kept.isStranger(line) && !this.#canStrangersPend()) {
      this.#kept.dismiss(line);
      return;
    }
    this.#expectAll(place, line);
    const state = this.#standings.stateOf(line);
    const changes = this.#standings.changesOf(line);
    const expected = this.#standings.expectedAt(line);
    const isPending = ({ outcome }: Change): boolean => outcome === "pending";
    const done = line.cursors.filter((cursor) => !aheadOf(cursor, changes).some(isPending));
    // Steps that match no change by now never will: only this witness changed.
    for (const cursor of done) {
      cursor.steps = [];
      if (cursor.direction === state) cursor.alone = undefined;
    }
    const disagreeing = done.filter(
      ({ direction, witness }) =>
        direction !== state && expected.some((one) => isSameWitness(one, witness)),
    );
    if (disagreeing.length > 0) {
      // Not before the newest change, after which it is as the reference has it.
      const begunAt = changes.at(-1)?.begunAt ?? -Infinity;
      const from = Math.max(begunAt, Math.min(...disagreeing.map(({ at }) => at))) as MonotonicMs;
      const change = this.#openDisagreement(place, line, disagreeing, from);
      for (const cursor of disagreeing) standBefore(cursor, change);
    }
    this.#review(place);
    this.#live.makeRoom();
  }

  /** Whether all have it: so it is with nearly every line of a first list, which must cost little. */
  #isAgreed(line: Line): boolean {
    const isThere = ({ direction, steps }: Cursor): boolean =>
      direction === "join" && steps.length === 0;
    if (!line.cursors.every(isThere)) return false;
    const expected = this.#standings.expectedAt(line);
    return expected.every((one) => one.hop === "traffic" || line.cursorOf(one) !== undefined);
  }

  /** Every witness that is expected to show the line's changes stands somewhere. */
  #expectAll(place: Place, line: Line): void {
    if (!this.#standings.isReported(line)) return;
    const others = [...place.coveringOf(line), ...place.coveredBy(line)];
    for (const witness of this.#standings.expectedAt(line)) {
      if (witness.hop === "traffic" || line.cursorOf(witness) !== undefined) continue;
      if (others.some((one) => one.cursorOf(witness) !== undefined)) continue;
      const cursor = this.#assume(line, witness, "leave");
      if (line.own.length === 0) cursor.through = this.#lastId;
    }
  }

  /** It has had it so since it follows the service, as far as that can differ from the reference. */
  #assume(line: Line, witness: Witness, direction: Direction): Cursor {
    const reference = this.#standings.referenceOf(line);
    const begunAt = (reference && line.cursorOf(reference)?.at) ?? -Infinity;
    const since = this.#expectations.sinceOf(witness, line.endpoint.service) ?? this.#now;
    const first = Math.max(since, begunAt) as MonotonicMs;
    const at = Number.isFinite(first) ? first : this.#now;
    return line.begin(
      witness,
      { direction, at, origin: "assumed" },
      this.#standings.changesOf(line),
    );
  }

  /** The witness shows nothing more of the service, so its steps so far are clear. */
  #settleAll(line: Line, witness: Witness): void {
    const cursor = line.cursorOf(witness);
    if (cursor === undefined) return;
    const end = Infinity as MonotonicMs;
    const known = { now: end, currentAt: end };
    this.#emitShown(follow(cursor, this.#standings.changesOf(line), known));
  }

  #look(change: Change): void {
    const { place } = change.line;
    for (const line of [change.line, ...place.coveringOf(change.line)]) {
      for (const cursor of line.cursors) this.#followOn(line, cursor);
    }
    this.#live.findStuck(change, this.#now);
    this.#review(place);
    this.#live.abandonIfOld(change, this.#now);
  }

  #review(place: Place): void {
    for (const line of place.lines.slice()) {
      for (const change of line.own.slice()) {
        if (change.outcome === "pending") this.#reviewChange(change);
      }
    }
    for (const line of place.lines.slice()) {
      const isPending = line.own.some(({ outcome }) => outcome === "pending");
      this.#kept.review(place, line, isPending || this.#unsettled.has(line));
    }
  }

  #canStrangersPend(): boolean {
    return this.#live.size < this.#pendingMax * strangersShare;
  }

  #reviewChange(change: Change): void {
    this.#expectAll(change.line.place, change.line);
    this.#live.review(change, this.#now);
  }

  /** All but the step that opened a change count as shown. */
  #emitShown(settled: readonly Settled[], opened?: Change): void {
    this.#counts.shown += settled.filter(({ change }) => change !== opened).length;
    this.#live.shown(settled);
  }

  #knownOf(line: Line): Known {
    return { now: this.#now, currentAt: this.#referenceCurrentAt(line) ?? this.#now };
  }

  /** Until when the references of the line, and of all that it covers, are complete. */
  #referenceCurrentAt(line: Line): MonotonicMs | undefined {
    const { service } = line.endpoint;
    const isOfPod = line.endpoint.podUid !== undefined;
    const expected = this.#standings.expectedAt(line);
    const references = isOfPod ? expected.slice(0, 1) : expected.filter(isOfCluster);
    let least: MonotonicMs | undefined;
    for (const witness of references) {
      const at = this.#late.hasOf(witness, service)
        ? (-Infinity as MonotonicMs)
        : this.#watermark(witness, service);
      if (at !== undefined && (least === undefined || at < least)) least = at;
    }
    return least;
  }

  #passTo(now: MonotonicMs): void {
    if (now > this.#now) this.#now = now;
  }
}

function opposite(direction: Direction): Direction {
  return direction === "join" ? "leave" : "join";
}

function earlier(a: MonotonicMs, b: MonotonicMs): MonotonicMs {
  return a < b ? a : b;
}
