// The timeline: folds what witnesses observe into changes with their time at every hop. It does no IO
// and reads no clock: observations carry their time, and `advance` says how late it is. What an
// observation costs depends on how many witnesses follow its service, and not on how much there is
// besides.
//
// The reference of an endpoint is the witness nearest to its pod: its steps are the changes. The steps of
// all other witnesses are matched to them (`line.ts`). Where a witness disagrees with the reference and
// no change explains it, there is a change in flight whose beginning is unknown.
import { assert, assertCostly } from "../environment/assert.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import { type Beginning, Change } from "./change.ts";
import type { ClockAnchor, SkewInterval } from "./clock-skew.ts";
import { ClockSkews } from "./clock-skews.ts";
import { Expectations } from "./expectations.ts";
import type { Journey, Outcome } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import {
  abandonAfterMs,
  defaultBudgetMs,
  defaultEndpointsMax,
  defaultPendingMax,
  goneMax,
  type HopBudgets,
  type JourneyLimits,
  keptMax,
  settledAtOnceMax,
  settleMs,
  strangersShare,
  trafficQuietMs,
} from "./journey-limits.ts";
import { LateObservations } from "./late-observations.ts";
import {
  aheadOf,
  type Cursor,
  follow,
  type Known,
  type Line,
  type Settled,
  settlesAt,
  standBefore,
} from "./line.ts";
import type { Observation, ObservationSink } from "./observation.ts";
import { type OldestPending, PendingChanges } from "./pending-changes.ts";
import type { Place, References } from "./place.ts";
import { Places } from "./places.ts";
import { type RequestCounts, requestOwners } from "./request-owners.ts";
import {
  type Direction,
  type FollowedService,
  type Hop,
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
  /** With it the clusters' own times are compared with the observer's. */
  readonly anchor?: ClockAnchor;
}

/** What became of the observations; beside them, `dismissed` endpoints that had to give up room. */
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
  readonly #onEvent: (event: JourneyEvent) => void;
  readonly #watermark: (witness: Witness, service: string) => MonotonicMs | undefined;
  readonly #budgetMs: HopBudgets;
  readonly #endpointsMax: number;
  readonly #pendingMax: number;
  readonly #places = new Places();
  readonly #references: References = {
    isReported: (line) => this.#hasOwnReference(line),
    stateOf: (line) => this.#stateOf(line),
  };
  readonly #expectations = new Expectations();
  readonly #late = new LateObservations();
  readonly #pending = new PendingChanges();
  readonly #skews: ClockSkews;
  /** Lines of which some witness may disagree with the reference, oldest first, and since when. */
  readonly #unsettled = new Map<Line, MonotonicMs>();
  /** Lines that nothing is expected of any more, the first one first. */
  readonly #gone = new Set<Line>();
  /** Lines that no cluster's own watches have shown, the first one first. */
  readonly #strangers = new Set<Line>();
  readonly #counts: Record<ObservationCount, number> = { ...noObservations };
  readonly #requestCounts = { joined: 0, left: 0, ordinary: 0, unknown: 0 };
  #lastId = 0;
  /** The latest instant that was named. */
  #now: MonotonicMs = -Infinity as MonotonicMs;

  constructor(options: TimelineOptions) {
    this.#onEvent = options.onEvent;
    this.#watermark = options.watermark ?? (() => undefined);
    this.#budgetMs = options.budgetMs ?? defaultBudgetMs;
    this.#endpointsMax = options.endpointsMax ?? defaultEndpointsMax;
    this.#pendingMax = options.pendingMax ?? defaultPendingMax;
    this.#skews = new ClockSkews(options.anchor);
  }

  get counts(): ObservationCounts {
    return { ...this.#counts };
  }

  /** How many endpoints are kept. */
  get size(): number {
    return this.#places.size;
  }

  /** What became of the requests in access logs. */
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
    return this.#places.locate(endpoint, (line) => !this.#strangers.has(line));
  }

  /** Whether the clusters' own watches know endpoints of it; of any cluster where none is named. */
  hasEndpoints(service: ServiceRef): boolean {
    const isThere = (line: Line): boolean =>
      !this.#strangers.has(line) && line.cursors.some(({ direction }) => direction === "join");
    return this.#places.has(service, isThere);
  }

  /** Changes that are not over, oldest first, at most so many. */
  pending(most = Number.POSITIVE_INFINITY): readonly Journey[] {
    return this.#pending.first(most).map((change) => this.#snapshot(change));
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestPending(now: MonotonicMs): readonly OldestPending[] {
    return this.#pending.oldestWaiting(now);
  }

  /** How far the observer's clock is from the cluster's; undefined until that is known. */
  clockSkew(cluster: string): SkewInterval | undefined {
    return this.#skews.of(cluster)?.interval;
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
        const isOne = forGood && ports?.includes(line.endpoint.port) !== false;
        if (isOne) this.#forgetWitness(place, line, witness);
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
      .filter((line) => line.own.length > 0 || this.#hasOwnReference(line));
    const isFollowed = (line: Line): boolean =>
      this.#expectedAt(line).some((one) => isSameWitness(one, report.witness));
    const followed = lines.filter(isFollowed);
    const asked = followed.length > 0 ? followed : lines;
    const { type, changes } = requestOwners(asked, report.at, (line) => this.#stateOf(line));
    this.#requestCounts[type] += 1;
    for (const change of changes) {
      if (change.request(report)) this.#emit("shown", change, report.witness);
      this.#reviewChange(change);
    }
  }

  /** Time has passed. To be called every second or so. */
  advance(now: MonotonicMs): void {
    this.#passTo(now);
    this.#releaseLate();
    this.#findDisagreements();
    // Each once: a look at one change of a place may leave it due, and another there due again.
    const looked = new Set<Change>();
    for (;;) {
      const change = this.#pending.firstDue(now);
      if (change === undefined) return;
      if (looked.has(change)) this.#pending.lookAgain(change, now + 1);
      else this.#look(change);
      looked.add(change);
    }
  }

  /** Nothing more will be reported: what waits is taken as it is. */
  end(now: MonotonicMs): void {
    this.#passTo(now);
    for (const released of this.#late.release(() => Infinity as MonotonicMs)) {
      for (const observation of released.observations) this.#take(observation);
    }
  }

  // ── observations ──────────────────────────────────────────────────────────────────────────────

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
    this.#skews.heard(observation);
    const place = this.#placeOf(line);
    const changes = this.#changesOf(place, line);
    const known = this.#adopt(place, line, observation.witness);
    if (observation.baseline === true) this.#takeBaseline(line, known, observation, changes);
    else if (known?.direction === observation.direction) this.#counts.repeated += 1;
    else this.#takeStep(place, line, known, observation);
    this.#review(place);
    this.#makeRoom();
  }

  /** Undefined when it is not followed: the end of something never seen, or there is no room. */
  #lineOf({ witness, endpoint, direction }: Observation): Line | undefined {
    const known = this.#places.at(endpoint)?.find(endpoint);
    if (known === undefined && direction === "leave") {
      this.#counts.unknown += 1;
      return undefined;
    }
    const isStranger = this.#isStranger(witness, endpoint);
    if (known === undefined && !this.#hasRoomFor(witness, isStranger)) {
      this.#counts.dropped += 1;
      return undefined;
    }
    const line = known ?? this.#places.add(endpoint);
    if (line.endpoint.cluster === undefined && endpoint.cluster !== undefined) {
      line.endpoint = { ...line.endpoint, cluster: endpoint.cluster };
    }
    if (isStranger && known === undefined) this.#strangers.add(line);
    if (isOfCluster(witness)) {
      for (const one of [line, ...this.#placeOf(line).coveringOf(line)])
        this.#strangers.delete(one);
    }
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
    const cursor = known ?? this.#assume(place, line, witness, opposite(direction));
    if (cursor.at < at) this.#endDisagreement(place, line, cursor);
    cursor.direction = direction;
    cursor.at = at;
    cursor.origin = "step";
    cursor.steps = [...cursor.steps, step];
    if (this.#opens(place, line, step)) {
      const { notBefore, endpoint } = step;
      const current = this.#watermark(witness, endpoint.service) ?? (-Infinity as MonotonicMs);
      const aheadFrom = notBefore ?? earlier(current, at);
      this.#counts.opened += 1;
      this.#open(place, line, { direction, at, notBefore, aheadFrom }, cursor);
      return;
    }
    const changes = this.#changesOf(place, line);
    this.#emitShown(follow(cursor, changes, this.#knownOf(line)));
    if (aheadOf(cursor, changes).length === 0) this.#unsettled.set(line, this.#now);
  }

  /** Whether a step is a change: of the reference, unless it is behind others that stand for it. */
  #opens(place: Place, line: Line, { witness, direction }: Observation): boolean {
    const reference = this.#referenceOf(line);
    // Proxies act on what they alone have seen: without a reference nothing says what it was.
    const isOpener =
      reference === undefined ? witness.hop !== "routed" : reference.hop === witness.hop;
    if (!isOpener) return false;
    return this.#changesOf(place, line).at(-1)?.direction !== direction;
  }

  /** A witness that had it otherwise from the first comes to agree: that ends a change of before. */
  #endDisagreement(place: Place, line: Line, cursor: Cursor): void {
    if (cursor.origin === "step" || cursor.direction === this.#stateOf(line)) return;
    const reference = this.#referenceOf(line);
    if (reference === undefined || reference.hop === cursor.witness.hop) return;
    if (!isOfCluster(reference)) return;
    if (aheadOf(cursor, this.#changesOf(place, line)).length > 0) return;
    this.#openDisagreement(place, line, cursor.at);
  }

  // ── changes ───────────────────────────────────────────────────────────────────────────────────

  #open(place: Place, line: Line, beginning: Beginning, opener?: Cursor): Change {
    this.#expectAll(place, line);
    this.#lastId += 1;
    const change = new Change(this.#lastId, line, beginning);
    assert((line.own.at(-1)?.id ?? 0) < change.id, "the ids of a line's changes rise");
    line.own.push(change);
    this.#pending.add(change);
    if (opener !== undefined) this.#followOn(place, line, opener, change);
    for (const one of [line, ...place.coveringOf(line)]) {
      for (const cursor of one.cursors) {
        if (beginning.isDisagreement) standBefore(cursor, change);
        this.#followOn(place, one, cursor);
      }
    }
    if (line.own.length > keptMax) this.#dropOldest(line);
    return change;
  }

  /** Of an address it is of the pod that has it, or had it last. */
  #openDisagreement(place: Place, line: Line, at: MonotonicMs): Change {
    const direction = this.#stateOf(line);
    const holders = this.#hasOwnReference(line) ? [] : place.coveredBy(line);
    const owner = holders.findLast((one) => this.#stateOf(one) === direction) ?? line;
    const last = owner.own.at(-1);
    const isThere = last?.isDisagreement && last.outcome === "pending";
    if (isThere && last.direction === direction) return last;
    return this.#open(place, owner, { direction, at, aheadFrom: at, isDisagreement: true });
  }

  #followOn(place: Place, line: Line, cursor: Cursor, opened?: Change): void {
    this.#emitShown(follow(cursor, this.#changesOf(place, line), this.#knownOf(line)), opened);
  }

  #knownOf(line: Line): Known {
    return { now: this.#now, currentAt: this.#referenceCurrentAt(line) ?? this.#now };
  }

  /** Where witnesses disagree with a reference that is proved current, a change is in flight. */
  #findDisagreements(): void {
    let left = Math.min(this.#unsettled.size, settledAtOnceMax);
    const known = new Map<readonly Witness[], MonotonicMs | undefined>();
    for (const [line, since] of this.#unsettled) {
      if (left === 0) return;
      left -= 1;
      const expected = this.#expectedAt(line);
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
    const place = this.#places.at(line.endpoint);
    if (place === undefined || !place.lines.includes(line)) return;
    if (this.#referenceOf(line) === undefined) return;
    if (this.#strangers.has(line) && this.#pending.size >= this.#pendingMax * strangersShare) {
      this.#dismiss(line);
      return;
    }
    this.#expectAll(place, line);
    const state = this.#stateOf(line);
    const changes = this.#changesOf(place, line);
    const expected = this.#expectedAt(line);
    const isPending = ({ outcome }: Change): boolean => outcome === "pending";
    const done = line.cursors.filter((cursor) => !aheadOf(cursor, changes).some(isPending));
    // What showed no change by now shows none: the witness changed its mind alone.
    for (const cursor of done) cursor.steps = [];
    const disagreeing = done.filter(
      ({ direction, witness }) =>
        direction !== state && expected.some((one) => isSameWitness(one, witness)),
    );
    if (disagreeing.length > 0) {
      // Not before the newest change, after which it is as the reference has it.
      const begunAt = changes.at(-1)?.begunAt ?? -Infinity;
      const from = Math.max(begunAt, Math.min(...disagreeing.map(({ at }) => at))) as MonotonicMs;
      const change = this.#openDisagreement(place, line, from);
      for (const cursor of disagreeing) standBefore(cursor, change);
    }
    this.#review(place);
    this.#makeRoom();
  }

  /** Every witness that is expected to show the line's changes stands somewhere. */
  #expectAll(place: Place, line: Line): void {
    if (!this.#hasOwnReference(line)) return;
    const others = [...place.coveringOf(line), ...place.coveredBy(line)];
    for (const witness of this.#expectedAt(line)) {
      if (witness.hop === "traffic" || line.cursorOf(witness) !== undefined) continue;
      if (others.some((one) => one.cursorOf(witness) !== undefined)) continue;
      const cursor = this.#assume(place, line, witness, "leave");
      if (line.own.length === 0) cursor.through = this.#lastId;
    }
  }

  /** It has had it so since it follows the service, as far as that can differ from the reference. */
  #assume(place: Place, line: Line, witness: Witness, direction: Direction): Cursor {
    const reference = this.#referenceOf(line);
    const begunAt = (reference && line.cursorOf(reference)?.at) ?? -Infinity;
    const since = this.#expectations.sinceOf(witness, line.endpoint.service) ?? this.#now;
    const first = Math.max(since, begunAt) as MonotonicMs;
    const at = Number.isFinite(first) ? first : this.#now;
    return line.begin(witness, { direction, at, origin: "assumed" }, this.#changesOf(place, line));
  }

  /** It will show nothing more, so what it has shown is clear. */
  #forgetWitness(place: Place, line: Line, witness: Witness): void {
    const cursor = line.cursorOf(witness);
    if (cursor === undefined) return;
    const end = Infinity as MonotonicMs;
    const known = { now: end, currentAt: end };
    this.#emitShown(follow(cursor, this.#changesOf(place, line), known));
    line.forget(witness);
  }

  #look(change: Change): void {
    const place = this.#placeOf(change.line);
    for (const line of [change.line, ...place.coveringOf(change.line)]) {
      for (const cursor of line.cursors) this.#followOn(place, line, cursor);
    }
    this.#findStuck(change);
    this.#review(place);
    if (change.outcome !== "pending") return;
    if (this.#now - change.originAt >= abandonAfterMs) this.#end(change, "abandoned");
  }

  #findStuck(change: Change): void {
    for (const witness of this.#expectedOf(change)) {
      if (witness.hop === "traffic" || this.#isDone(change, witness)) continue;
      if (!change.becomesStuck(witness, this.#now, this.#budgetMs[witness.hop])) continue;
      this.#emit("stuck", change, witness);
    }
  }

  #review(place: Place): void {
    for (const line of place.lines.slice()) {
      for (const change of line.own.slice()) {
        if (change.outcome === "pending") this.#reviewChange(change);
      }
    }
    for (const line of place.lines.slice()) this.#forgetIfGone(place, line);
  }

  /** Which witnesses are still waited for, and when the change has to be looked at again. */
  #reviewChange(change: Change): void {
    const place = this.#placeOf(change.line);
    this.#expectAll(place, change.line);
    const waitingAt: Hop[] = [];
    let dueAt = change.originAt + abandonAfterMs;
    let waitsForRequests = false;
    for (const witness of this.#expectedOf(change)) {
      const { hop } = witness;
      if (hop === "traffic") {
        waitsForRequests ||= !change.isMarkedBy(witness);
        continue;
      }
      if (this.#isDone(change, witness)) continue;
      if (!waitingAt.includes(hop)) waitingAt.push(hop);
      const standing = this.#standingOf(place, change, witness);
      if (standing !== undefined) {
        const changes = this.#changesOf(place, standing.line);
        dueAt = Math.min(dueAt, settlesAt(standing.cursor, changes, this.#now) ?? dueAt);
      }
      if (!change.isStuckAt(witness))
        dueAt = Math.min(dueAt, change.originAt + this.#budgetMs[hop]);
    }
    const isCurrent = change.line.own.at(-1) === change;
    this.#pending.waitAt(change, isCurrent ? waitingAt : []);
    if (waitingAt.length > 0) {
      change.shownEverywhereAt = undefined;
      this.#pending.lookAgain(change, dueAt);
      return;
    }
    change.shownEverywhereAt ??= this.#now;
    const quietAt = Math.max(change.shownEverywhereAt, change.lastRequestAt) + trafficQuietMs;
    if (waitsForRequests && this.#now < quietAt) this.#pending.lookAgain(change, quietAt);
    else this.#end(change, isCurrent ? "complete" : "superseded");
  }

  #end(change: Change, outcome: Outcome): void {
    for (const witness of this.#expectedOf(change)) {
      if (witness.hop !== "traffic" || !change.endRequests(witness)) continue;
      this.#emit("shown", change, witness);
    }
    assert(change.outcome === "pending", "a change ends once");
    change.outcome = outcome;
    this.#pending.delete(change);
    this.#onEvent({ type: "over", journey: this.#snapshot(change) });
    change.forget();
    this.#trim(change.line);
  }

  /** Changes that are over are kept for witnesses that are behind, the last one also for requests and clusters to come. */
  #trim(line: Line): void {
    const { own, cursors, endpoint } = line;
    const covering = this.#places.at(endpoint)?.addresses ?? [];
    const reference = this.#referenceOf(line);
    const isKept = reference === undefined || !isOfCluster(reference) || this.#hasRequests(line);
    const kept = isKept ? 1 : 0;
    const isPassed = (change: Change): boolean =>
      change.outcome !== "pending" &&
      [...cursors, ...covering.flatMap((line) => line.cursors)].every(
        ({ through }) => through >= change.id,
      );
    while (own.length > kept && own[0] !== undefined && isPassed(own[0])) own.shift();
    assertCostly(
      () => own.length <= kept || own[0] === undefined || !isPassed(own[0]),
      "a change that is over and passed by all is not kept",
      own.length,
    );
  }

  #hasRequests(line: Line): boolean {
    return this.#expectedAt(line).at(-1)?.hop === "traffic";
  }

  #dropOldest(line: Line): void {
    const [oldest] = line.own;
    if (oldest?.outcome === "pending") this.#end(oldest, "dropped");
    if (line.own[0] === oldest) line.own.shift();
  }

  #makeRoom(): void {
    const { oldest } = this.#pending;
    if (this.#pending.size <= this.#pendingMax || oldest === undefined) return;
    const isDone = oldest.shownEverywhereAt !== undefined;
    const isCurrent = oldest.line.own.at(-1) === oldest;
    this.#end(oldest, isDone ? (isCurrent ? "complete" : "superseded") : "dropped");
  }

  // ── who stands where ──────────────────────────────────────────────────────────────────────────

  #placeOf(line: Line): Place {
    const place = this.#places.at(line.endpoint);
    if (place === undefined) throw new Error("a line without a place");
    return place;
  }

  #changesOf(place: Place, line: Line): readonly Change[] {
    return place.changesOf(line, this.#references);
  }

  #expectedAt(line: Line): readonly Witness[] {
    return this.#expectations.of(line.endpoint);
  }

  /** Those that are expected to show it; of an address that no cluster reports, those that have. */
  #expectedOf({ line }: Change): readonly Witness[] {
    const expected = this.#expectedAt(line);
    if (this.#hasOwnReference(line)) return expected;
    return expected.filter((one) => one.hop === "traffic" || line.cursorOf(one) !== undefined);
  }

  /** Whether the reference reports this line, and not only pods that have the address. */
  #hasOwnReference(line: Line): boolean {
    if (line.endpoint.podUid !== undefined) return true;
    const reference = this.#referenceOf(line);
    return reference !== undefined && line.cursorOf(reference)?.origin !== undefined;
  }

  /** The witness whose steps are the line's changes: the nearest to the pod. */
  #referenceOf(line: Line): Witness | undefined {
    return this.#expectations.referenceOf(line.endpoint);
  }

  /** Whether the endpoint is there, by its reference; of an address, whether anybody has it. */
  #stateOf(line: Line): Direction {
    const reference = this.#referenceOf(line);
    const own =
      reference === undefined ? line.own.at(-1)?.direction : line.cursorOf(reference)?.direction;
    if (own === "join") return "join";
    const place = this.#places.at(line.endpoint);
    const covered = place?.coveredBy(line) ?? [];
    return covered.some((one) => this.#stateOf(one) === "join") ? "join" : "leave";
  }

  /** What was so until then, by the references of the line and of all that it covers. */
  #referenceCurrentAt(line: Line): MonotonicMs | undefined {
    const { service } = line.endpoint;
    const isOfPod = line.endpoint.podUid !== undefined;
    const expected = this.#expectedAt(line);
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

  /** Where the witness stands with regard to the change. */
  #standingOf(
    place: Place,
    { line }: Change,
    witness: Witness,
  ): { readonly line: Line; readonly cursor: Cursor } | undefined {
    const own = line.cursorOf(witness);
    if (own !== undefined && own.origin !== "assumed") return { line, cursor: own };
    for (const address of place.coveringOf(line)) {
      const cursor = address.cursorOf(witness);
      if (cursor !== undefined) return { line: address, cursor };
    }
    return own && { line, cursor: own };
  }

  /** It has shown the change or passed it, or cannot show it: others have the address as well. */
  #isDone(change: Change, witness: Witness): boolean {
    const place = this.#placeOf(change.line);
    const standing = this.#standingOf(place, change, witness);
    // One that reports pods by name stands on their lines instead.
    if (standing === undefined) {
      return place.coveredBy(change.line).some((one) => one.cursorOf(witness) !== undefined);
    }
    if (standing.cursor.through >= change.id) return true;
    return standing.line !== change.line && !this.#changesOf(place, standing.line).includes(change);
  }

  // ── bounds ────────────────────────────────────────────────────────────────────────────────────

  /** Whether no cluster has shown the endpoint, nor a pod that has its address. */
  #isStranger(witness: Witness, endpoint: WitnessedEndpoint): boolean {
    if (isOfCluster(witness)) return false;
    const { cluster, podUid } = endpoint;
    const pods = podUid === undefined ? (this.#places.at(endpoint)?.pods ?? []) : [];
    const isOwner = (line: Line): boolean =>
      !this.#strangers.has(line) && (cluster ?? line.endpoint.cluster) === line.endpoint.cluster;
    return !pods.some(isOwner);
  }

  /** For an endpoint that the witness is the first to name. */
  #hasRoomFor(witness: Witness, isStranger: boolean): boolean {
    if (isStranger) {
      const isRoomy = this.#strangers.size < this.#endpointsMax * strangersShare;
      const canPend = this.#pending.size < this.#pendingMax * strangersShare;
      return isRoomy && canPend && this.#places.size < this.#endpointsMax;
    }
    if (isOfCluster(witness) && this.#places.size >= this.#endpointsMax) {
      const [gone] = this.#gone;
      const [stranger] = this.#strangers;
      if (gone !== undefined) this.#forget(gone);
      else if (stranger !== undefined) this.#dismiss(stranger);
    }
    return this.#places.size < this.#endpointsMax;
  }

  /** No cluster knows it, and its room is needed. */
  #dismiss(line: Line): void {
    for (const change of line.own.slice()) {
      if (change.outcome === "pending") this.#end(change, "dropped");
    }
    this.#counts.dismissed += 1;
    this.#forget(line);
  }

  /** Nothing is there and nothing is waited for; one that is cut off may still think otherwise. */
  #forgetIfGone(place: Place, line: Line): void {
    const isPending = line.own.some(({ outcome }) => outcome === "pending");
    if (isPending || this.#unsettled.has(line) || this.#stateOf(line) === "join") {
      this.#gone.delete(line);
      return;
    }
    const there = line.cursors.filter(({ direction }) => direction === "join");
    const isNeeded = place.coveredBy(line).length > 0 && line.cursors.length > 0;
    if (there.length === 0 && !isNeeded) {
      this.#forget(line);
      return;
    }
    this.#gone.add(line);
    const [oldest] = this.#gone;
    if (this.#gone.size > goneMax && oldest !== undefined) this.#forget(oldest);
  }

  #forget(line: Line): void {
    const place = this.#places.at(line.endpoint);
    this.#places.remove(line);
    for (const one of place?.coveringOf(line) ?? []) {
      const isOwn = one.cursors.some(({ witness }) => isOfCluster(witness));
      if (!isOwn && place?.coveredBy(one).length === 0) this.#strangers.add(one);
    }
    this.#gone.delete(line);
    this.#strangers.delete(line);
    this.#unsettled.delete(line);
  }

  // ── events ────────────────────────────────────────────────────────────────────────────────────

  /** All but the step that opened a change count as shown. */
  #emitShown(settled: readonly Settled[], opened?: Change): void {
    for (const { change, witness } of settled) {
      if (change !== opened) this.#counts.shown += 1;
      if (change.outcome === "pending") this.#emit("shown", change, witness);
    }
  }

  #emit(type: "shown" | "stuck", change: Change, witness: Witness): void {
    const journey = this.#snapshot(change);
    const hop = change.hopTime(witness, { isPassedBy: (one) => this.#isDone(change, one) });
    this.#onEvent({ type, journey, hop });
  }

  #snapshot(change: Change): Journey {
    return change.snapshot({
      expected: this.#expectedOf(change),
      isPassedBy: (witness) => witness.hop !== "traffic" && this.#isDone(change, witness),
      clusterTime: (stamp) =>
        this.#skews.timeOf(stamp, { endpoint: change.line.endpoint, originAt: change.originAt }),
    });
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
