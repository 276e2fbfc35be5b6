// The history of one endpoint as its witnesses tell it. Joins and leaves alternate; each witness
// goes through them in order, at its own pace, and may leave some out but never goes back. From that
// follows which change a report belongs to, and when it must be a new one.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Followers } from "./followers.ts";
import { settleMs, undecidedMax } from "./journey-limits.ts";
import { type Opening, OpenJourney } from "./open-journey.ts";
import { isAwaited } from "./outlook.ts";
import { type Sight, Sights } from "./sights.ts";
import {
  type Change,
  type Fit,
  isSameFit,
  latestFit,
  soonestFit,
  UndecidedReports,
} from "./undecided-reports.ts";
import type { Direction, Witness, WitnessedEndpoint, WitnessReport } from "./witness.ts";

/** What a report turned out to be. */
export type Taken =
  | { readonly type: "opened"; readonly journey: OpenJourney }
  /** It shows these; none while it is not clear which. */
  | { readonly type: "matched"; readonly journeys: readonly OpenJourney[] }
  | { readonly type: "withdrawn"; readonly journey: OpenJourney }
  /** A state, not a change. */
  | { readonly type: "baseline" }
  /** The end of a change that began before the observation, or that it seemed to have left out. */
  | { readonly type: "earlier" }
  /** The witness had already shown this change. */
  | { readonly type: "repeated" };

/** What a request at some instant falls after. */
export interface Holding {
  /** Whether the endpoint had its address then. */
  readonly has: boolean;
  /** The change that made it so, if that was observed. */
  readonly journey: OpenJourney | undefined;
}

/** Invariant: `#journeys` is in order of opening, the last one is current, only it may be over. */
export class EndpointTrack {
  readonly #sights = new Sights();
  readonly #undecided = new UndecidedReports();
  /** The current one, also when it is over, and before it those that some witness may yet show. */
  #journeys: OpenJourney[] = [];
  #endpoint: WitnessedEndpoint;
  #followers: readonly Witness[] = [];
  /** Which version of the answers `#followers` is of. */
  #followersVersion = -1;

  constructor(endpoint: WitnessedEndpoint) {
    this.#endpoint = endpoint;
  }

  get endpoint(): WitnessedEndpoint {
    return this.#endpoint;
  }

  get current(): OpenJourney | undefined {
    return this.#journeys.at(-1);
  }

  /** Those that are not over, oldest first. */
  get pending(): readonly OpenJourney[] {
    return this.#journeys.filter(isPending);
  }

  /** Whether the endpoint is gone for every witness and nothing is waited for. */
  get isGone(): boolean {
    return !this.#journeys.some(isPending) && this.#sights.areOut;
  }

  /**
   * Who is expected to show its changes; remembered, because every report asks several times. Also
   * who has shown some and is followed no more, as long as it is not decided which.
   */
  followers(all: Followers): readonly Witness[] {
    if (this.#followersVersion !== all.version) {
      this.#followers = all.of(this.#endpoint);
      this.#followersVersion = all.version;
    }
    return this.#undecided.withWitnesses(this.#followers);
  }

  /** A report that knows more than we did about whose endpoint it is. */
  identify({ cluster, podUid }: WitnessedEndpoint): void {
    const known = this.#endpoint;
    if (known.cluster !== undefined && known.podUid !== undefined) return;
    const { service, address, port } = known;
    this.#followersVersion = -1;
    this.#endpoint = {
      cluster: known.cluster ?? cluster,
      service,
      address,
      port,
      podUid: known.podUid ?? podUid,
    };
  }

  /** The journey that this witness would show next in this direction. */
  awaited(witness: Witness, direction: Direction): OpenJourney | undefined {
    const seen = this.#sights.of(witness)?.journey ?? 0;
    return this.#journeys.find((one) => one.id > seen && one.direction === direction);
  }

  /** Whether the report is of a change that the witness has yet to show. */
  awaits(report: WitnessReport): boolean {
    const { witness } = report;
    const reports = [...this.#undecided.of(witness), report];
    const begun = this.#changesAfter(witness).filter(({ originAt }) => originAt <= report.at);
    return soonestFit(reports, begun) !== undefined;
  }

  shows(witness: Witness): Direction {
    return this.#sights.of(witness)?.direction ?? "leave";
  }

  /** `nextId` is for the journey that this may open. */
  take(report: WitnessReport, followers: readonly Witness[], nextId: number): Taken {
    const { witness, direction } = report;
    if (report.baseline === true) return this.#takeBaseline(report);
    const matched = this.#match(report);
    if (matched !== undefined) return matched;
    const { current } = this;
    const pod = followers.find(({ hop }) => hop === "pod");
    const known = current?.direction ?? (pod && this.shows(pod));
    if (known === direction) {
      this.#see(report, current?.id ?? 0);
      return { type: current === undefined ? "earlier" : "repeated" };
    }
    if (known === "leave" && current !== undefined && this.#isFirstOf(witness)) {
      // A replica that is new to us begins with what others have taken back: it is behind.
      this.#see(report, 0);
      return { type: "baseline" };
    }
    if (current !== undefined && this.#isBehind(witness, current, pod)) {
      // Before the current change and after all others: what it shows next may be the current one.
      this.#see(report, current.id - 0.5, report);
      return { type: "earlier" };
    }
    if (current !== undefined && isPending(current) && pod !== undefined && current.isOnlyRouted) {
      return this.#withdraw(current, report);
    }
    const journey = this.#open(nextId, report, followers, report);
    return { type: "opened", journey };
  }

  /**
   * Some witness had another view than the rest when the observation began, or when it began to be
   * observed, and has kept it: a change of some time before that it has yet to show. The others are
   * right where they are nearer to the pod.
   */
  openDisagreement(
    nextId: number,
    followers: readonly Witness[],
    since: MonotonicMs,
  ): OpenJourney | undefined {
    const [nearest] = followers;
    const isJudge = nearest?.hop === "pod" || nearest?.hop === "published";
    if (nearest === undefined || !isJudge || this.#journeys.some(isPending)) return undefined;
    const direction = this.shows(nearest);
    if (followers.every((one) => one.hop === "traffic" || this.shows(one) === direction)) {
      return undefined;
    }
    const opening = { direction, endpoint: this.#endpoint, at: since, beforeStart: true } as const;
    return this.#open(nextId, opening, followers);
  }

  /**
   * Witnesses that agree with the current change and have left out what came before it are taken to
   * be done, after a while in which they might still show it. Returns what is known to be shown now.
   */
  settle(now: MonotonicMs, followers: readonly Witness[]): Fit<OpenJourney> {
    const { current } = this;
    if (current === undefined) return [];
    return followers.flatMap((witness) => {
      const settlesAt = this.settlesAt(witness, current);
      if (settlesAt === undefined || settlesAt > now) return [];
      const decided = this.decide(witness);
      if (decided.length > 0 || !isPending(current)) return decided;
      this.#agree(witness, current);
      const sight = this.#sights.of(witness);
      if (sight !== undefined) this.#sights.put({ ...sight, isAssumed: true });
      return [];
    });
  }

  /** Nothing more is to be heard of it soon: what it showed last was of the latest changes. */
  decide(witness: Witness): Fit<OpenJourney> {
    const reports = this.#undecided.of(witness);
    if (reports.length === 0) return [];
    const fit = latestFit(reports, this.#changesAfter(witness)) ?? [];
    this.#undecided.clear(witness);
    this.#show(fit);
    return fit;
  }

  /** Undefined when there is nothing to settle. */
  settlesAt(witness: Witness, journey: OpenJourney): number | undefined {
    if (witness.hop === "traffic") return undefined;
    const undecided = this.#undecided.of(witness).at(-1);
    if (undecided !== undefined) return undecided.at + settleMs;
    if (journey !== this.current) return undefined;
    if (journey.isMarkedBy(witness) || this.shows(witness) !== journey.direction) return undefined;
    return Math.max(journey.originAt, this.#sights.of(witness)?.at ?? 0) + settleMs;
  }

  /** Whether there is a later change, and not one that only replicas show, who may take it back. */
  isSuperseded(journey: OpenJourney): boolean {
    return this.#journeys.some(
      (one) => one.id > journey.id && !(isPending(one) && one.isOnlyRouted),
    );
  }

  isPassedBy(witness: Witness, journey: OpenJourney): boolean {
    return (this.#sights.of(witness)?.journey ?? 0) > journey.id;
  }

  /** Lets go of a journey that is over; the current one stays, to know what comes next. */
  release(journey: OpenJourney): void {
    if (journey === this.current) return;
    this.#journeys = this.#journeys.filter((one) => one !== journey);
  }

  /** Who had the address at that instant is known as far as changes are still remembered. */
  holdingAt(at: MonotonicMs): Holding {
    const journey = this.#journeys.findLast(({ originAt }) => originAt <= at);
    if (journey !== undefined) return { has: journey.direction === "join", journey };
    const [first] = this.#journeys;
    const has = first === undefined ? !this.#sights.areOut : first.direction === "leave";
    return { has, journey: undefined };
  }

  /**
   * Another pod has the address now. Whoever knows only addresses goes on showing this one: it cannot
   * show that one pod left and the other joined. Returns what was taken for a return of this one.
   */
  handOver(successor: EndpointTrack): OpenJourney | undefined {
    const mistaken = this.#onlyByAddress();
    if (mistaken !== undefined) this.#journeys = this.#journeys.filter((one) => one !== mistaken);
    const { current } = this;
    const next = successor.current;
    const isLeft = current?.direction === "leave" || mistaken !== undefined;
    if (!isLeft || next === undefined) return mistaken;
    for (const sight of this.#sights.all()) {
      const { witness, at } = sight;
      if (
        !sight.byAddress ||
        sight.direction === "leave" ||
        successor.#sights.of(witness) !== undefined
      )
        continue;
      this.#undecided.clear(witness);
      successor.#sights.put({ ...sight, journey: next.id });
      if (mistaken === undefined) next.agree(witness, at);
      else next.show({ witness, direction: "join", endpoint: this.#endpoint, at });
      // Of which change it was is open again: the join that it was taken for is another's.
      this.#sights.put({ ...sight, direction: "leave", journey: 0 });
      if (current !== undefined) this.#agree(witness, current);
    }
    return mistaken;
  }

  /** A pending join that nobody has shown who could tell whose it is. */
  #onlyByAddress(): OpenJourney | undefined {
    const { current } = this;
    if (current?.direction !== "join" || !isPending(current)) return undefined;
    const isKnown = this.#sights.all().some((one) => one.journey === current.id && !one.byAddress);
    return isKnown ? undefined : current;
  }

  /** It does show, after all, what it was taken to have left out: the pod knows of nothing new. */
  #isBehind(witness: Witness, current: OpenJourney, pod: Witness | undefined): boolean {
    if (witness.hop === "pod" || pod === undefined) return false;
    const isAssumed = this.#sights.of(witness)?.isAssumed ?? false;
    return isAssumed && this.shows(pod) === current.direction;
  }

  #isFirstOf(witness: Witness): boolean {
    return witness.hop === "routed" && this.#sights.of(witness) === undefined;
  }

  /** Those that the witness has yet to show. */
  #changesAfter(witness: Witness): readonly OpenJourney[] {
    const seen = this.#sights.of(witness)?.journey ?? 0;
    return this.#journeys.filter(({ id }) => id > seen);
  }

  /** Undefined when it is not of a change that the witness has yet to show. */
  #match(report: WitnessReport): Taken | undefined {
    const { witness } = report;
    const reports = [...this.#undecided.of(witness), report];
    const seen = this.#sights.of(witness)?.journey ?? 0;
    const changes = this.#changesAfter(witness);
    const soonest = soonestFit(reports, changes);
    if (soonest === undefined) {
      return this.decide(witness).length === 0 ? undefined : this.#match(report);
    }
    const isClear = isSameFit(soonest, latestFit(reports, [...changes, ...this.#toCome(reports)]));
    if (!isClear && reports.length < undecidedMax) {
      this.#undecided.add(report);
      this.#see(report, seen);
      return { type: "matched", journeys: [] };
    }
    this.#undecided.clear(witness);
    this.#show(soonest);
    return { type: "matched", journeys: soonest.map(([journey]) => journey) };
  }

  /** Where it is open which changes it has left out it may also be ahead of all, with the next. */
  #toCome(reports: readonly WitnessReport[]): readonly Change[] {
    const { current } = this;
    if (current === undefined || reports.length === 1) return [];
    const direction = current.direction === "join" ? "leave" : "join";
    return [{ direction, originAt: current.originAt }];
  }

  #show(fit: Fit<OpenJourney>): void {
    for (const [journey, report] of fit) {
      if (isPending(journey)) journey.show(report);
      this.#see(report, journey.id);
    }
  }

  #takeBaseline(report: WitnessReport): Taken {
    const { current } = this;
    const isBefore = current !== undefined && current.direction !== report.direction;
    this.#undecided.clear(report.witness);
    // One that has yet to follow the current change stands before it, and will show it.
    this.#see(report, (current?.id ?? 0) - (isBefore ? 0.5 : 0));
    if (current !== undefined && isPending(current) && !isBefore) {
      current.agree(report.witness, undefined);
    }
    return { type: "baseline" };
  }

  #open(
    id: number,
    opening: Opening,
    followers: readonly Witness[],
    report?: WitnessReport,
  ): OpenJourney {
    const pending = this.pending;
    const behind = followers.filter((witness) => pending.some((one) => isAwaited(one, witness)));
    const journey = new OpenJourney(id, this, opening);
    this.#journeys = [...pending, journey];
    if (report !== undefined) {
      journey.show(report);
      this.#see(report, id);
    }
    const unclear = this.#sights.all().filter((sight) => sight.unclear !== undefined);
    for (const witness of [...followers, ...unclear.map((sight) => sight.witness)]) {
      if (witness.hop === "traffic" || journey.isMarkedBy(witness)) continue;
      if (behind.includes(witness) || this.shows(witness) !== journey.direction) continue;
      this.#agree(witness, journey);
    }
    return journey;
  }

  #withdraw(journey: OpenJourney, report: WitnessReport): Taken {
    this.#journeys = this.#journeys.filter((one) => one !== journey);
    this.#see(report, this.current?.id ?? 0);
    return { type: "withdrawn", journey };
  }

  #agree(witness: Witness, journey: OpenJourney): void {
    const { direction, originAt } = journey;
    const known = this.#sights.of(witness);
    if (known?.unclear !== undefined && originAt - known.at < settleMs) {
      // It was ahead, then, and makes the origin.
      journey.show(known.unclear);
    } else if (isPending(journey)) {
      // What it has shown of another change counts there, and not a second time here.
      const isElse = isOfChange(known) || known?.isBaseline === true;
      journey.agree(witness, isElse ? undefined : known?.at);
    }
    this.#sights.put({
      witness,
      direction: known?.direction ?? direction,
      at: known?.at ?? originAt,
      journey: journey.id,
      byAddress: known?.byAddress ?? false,
      isBaseline: known?.isBaseline ?? false,
      isAssumed: false,
      unclear: undefined,
    });
  }

  #see(report: WitnessReport, journey: number, unclear?: WitnessReport): void {
    const { witness, direction, at, endpoint } = report;
    this.#sights.put({
      witness,
      direction,
      at,
      isBaseline: report.baseline ?? false,
      journey,
      byAddress: endpoint.podUid === undefined,
      isAssumed: false,
      unclear,
    });
  }
}

function isPending({ outcome }: OpenJourney): boolean {
  return outcome === "pending";
}

/** Whether it is known which change the witness showed; between two of them it is not. */
function isOfChange(sight: Sight | undefined): boolean {
  return sight !== undefined && sight.journey > 0 && Number.isInteger(sight.journey);
}
