// The history of one endpoint as its witnesses tell it. Joins and leaves alternate; each witness
// goes through them in order, at its own pace, and may leave some out but never goes back. From that
// follows which change a report belongs to, and when it must be a new one.
import type { MonotonicMs } from "../environment/clock.ts";
import { EndpointChanges, isPending } from "./endpoint-changes.ts";
import type { Followers } from "./followers.ts";
import { settleMs, undecidedMax } from "./journey-limits.ts";
import { type Opening, OpenJourney } from "./open-journey.ts";
import { isAwaited } from "./outlook.ts";
import type { Sight } from "./sights.ts";
import { isOfCluster } from "./strangers.ts";
import {
  type CanShow,
  type Change,
  type Fit,
  isSameFit,
  latestFit,
  soonestFit,
  UndecidedReports,
} from "./undecided-reports.ts";
import {
  type Direction,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  witnessId,
} from "./witness.ts";

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

export interface SettleOptions {
  readonly now: MonotonicMs;
  readonly witnesses: readonly Witness[];
  readonly followers: readonly Witness[];
  /** All that a witness had to tell until then has been told; undefined where nobody can say. */
  readonly provedAt: (witness: Witness) => MonotonicMs | undefined;
}

/** Who is right, and how it stands by its word. */
export interface Disagreement {
  readonly nearest: Witness;
  readonly direction: Direction;
}

/** What is clear after a while of silence. */
export interface Settlement {
  readonly shown: Fit<OpenJourney>;
  /** What nobody else has told of. */
  readonly news: readonly WitnessReport[];
}

export class EndpointTrack {
  readonly changes = new EndpointChanges();
  readonly #undecided = new UndecidedReports();
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

  /** Whether some report may be of one change or another. */
  get isUndecided(): boolean {
    return this.#undecided.size > 0;
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

  /** Whether the report is of a change that the witness has yet to show. */
  awaits(report: WitnessReport): boolean {
    const { witness } = report;
    const reports = [...this.#undecided.of(witness), report];
    const begun = this.changes.all.filter(({ originAt }) => originAt <= report.at);
    const canShow: CanShow<OpenJourney> = (one, word) => this.changes.canShow(one, word);
    return soonestFit(reports, begun, canShow) !== undefined;
  }

  /** `nextId` is for the journey that this may open. */
  take(report: WitnessReport, followers: readonly Witness[], nextId: number): Taken {
    const { witness, direction } = report;
    if (report.baseline === true) return this.#takeBaseline(report);
    const matched = this.#match(report);
    if (matched !== undefined) return matched;
    const { current } = this.changes;
    const pod = followers.find(({ hop }) => hop === "pod");
    const known = current?.direction ?? (pod && this.changes.shows(pod));
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
      this.#see(report, current.id - 0.5, { unclear: report });
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
  disagreement(followers: readonly Witness[]): Disagreement | undefined {
    const [nearest] = followers;
    if (nearest === undefined || !isOfCluster(nearest)) return undefined;
    if (this.changes.pending.length > 0) return undefined;
    const direction = this.changes.shows(nearest);
    const agrees = (one: Witness): boolean =>
      one.hop === "traffic" || this.changes.shows(one) === direction;
    return followers.every(agrees) ? undefined : { nearest, direction };
  }

  openDisagreement(
    nextId: number,
    { direction }: Disagreement,
    { followers, since }: { readonly followers: readonly Witness[]; readonly since: MonotonicMs },
  ): OpenJourney {
    const opening = { direction, endpoint: this.#endpoint, at: since, beforeStart: true } as const;
    return this.#open(nextId, opening, followers);
  }

  /**
   * Witnesses that agree with the current change and have left out what came before it are taken to
   * be done, after a while in which they might still show it; and what was undecided is decided.
   */
  settle({ now, witnesses, followers, provedAt }: SettleOptions): Settlement {
    const { current } = this.changes;
    const shown: (readonly [OpenJourney, WitnessReport])[] = [];
    const news: WitnessReport[] = [];
    if (current === undefined) return { shown, news };
    for (const witness of witnesses) {
      const undecided = this.#undecided.of(witness).at(-1);
      if (undecided === undefined) {
        const settlesAt = this.settlesAt(witness, current);
        const isOver = settlesAt !== undefined && settlesAt <= now;
        if (isOver && isPending(current)) this.#assume(witness, current);
        continue;
      }
      if (undecided.at + settleMs > now) continue;
      const isLate = undecided.notBefore !== undefined;
      if (isLate && (provedAt(witness) ?? now) <= undecided.at) continue;
      const last = this.#takeNews(witness, current, followers);
      shown.push(...this.decide(witness));
      if (last === undefined) continue;
      this.#see({ ...last, direction: current.direction }, current.id);
      news.push(last);
    }
    return { shown, news };
  }

  /** Nothing more is to be heard of it soon: what it showed last was of the latest changes. */
  decide(witness: Witness): Fit<OpenJourney> {
    const reports = this.#undecided.of(witness);
    if (reports.length === 0) return [];
    const { all } = this.changes;
    const canShow: CanShow<OpenJourney> = (one, word) => this.changes.canShow(one, word);
    const fit =
      latestFit(reports, all, (one, report) => this.#isAwaited(one, report)) ??
      latestFit(reports, all, canShow) ??
      [];
    const [soonest] = soonestFit(reports, all, canShow)?.at(-1) ?? [];
    this.#undecided.clear(witness);
    this.#show(fit);
    const sight = this.changes.sightOf(witness);
    const isLate = reports.some(({ notBefore }) => notBefore !== undefined);
    if (isLate && sight !== undefined && soonest !== undefined) {
      // Who was cut off may have more to tell, and then that was of the first changes.
      this.changes.see({ ...sight, shown: soonest.id });
    }
    return fit;
  }

  /** When it is taken to agree; undefined when it does not, or what it said is not decided. */
  settlesAt(witness: Witness, journey: OpenJourney): number | undefined {
    if (witness.hop === "traffic") return undefined;
    if (journey !== this.changes.current || this.#undecided.of(witness).length > 0) {
      return undefined;
    }
    if (journey.isMarkedBy(witness) || this.changes.shows(witness) !== journey.direction)
      return undefined;
    return Math.max(journey.originAt, this.changes.sightOf(witness)?.at ?? 0) + settleMs;
  }

  /**
   * Another pod has the address now. Whoever knows only addresses goes on showing this one: it cannot
   * show that one pod left and the other joined. Returns what was taken for a return of this one.
   */
  handOver(successor: EndpointTrack): OpenJourney | undefined {
    const mistaken = this.#onlyByAddress();
    if (mistaken !== undefined) this.changes.remove(mistaken);
    const { current } = this.changes;
    const next = successor.changes.current;
    const isLeft = current?.direction === "leave" || mistaken !== undefined;
    if (!isLeft || next === undefined) return mistaken;
    for (const sight of this.changes.sights) {
      const { witness, at } = sight;
      if (
        !sight.byAddress ||
        sight.direction === "leave" ||
        successor.changes.sightOf(witness) !== undefined
      )
        continue;
      this.#undecided.clear(witness);
      successor.changes.see({ ...sight, passed: next.id, shown: next.id });
      if (mistaken === undefined) next.agree(witness, at);
      else next.show({ witness, direction: "join", endpoint: this.#endpoint, at });
      // Of which change it was is open again: the join that it was taken for is another's.
      this.changes.see({ ...sight, direction: "leave", passed: 0 });
      if (current !== undefined) this.#agree(witness, current);
    }
    return mistaken;
  }

  #assume(witness: Witness, current: OpenJourney): void {
    this.#agree(witness, current);
    const sight = this.changes.sightOf(witness);
    if (sight !== undefined) this.changes.see({ ...sight, isAssumed: true });
  }

  /** How its pods' own cluster says that it stands is so: if all else is known, that is new. */
  #takeNews(
    witness: Witness,
    current: OpenJourney,
    [nearest]: readonly Witness[],
  ): WitnessReport | undefined {
    const isJudge = nearest !== undefined && isOfCluster(nearest);
    if (!isJudge || witnessId(nearest) !== witnessId(witness)) return undefined;
    const last = this.#undecided.of(witness).at(-1);
    if (last === undefined || last.direction === current.direction) return undefined;
    if (this.changes.all.some((one) => this.#isSince(one, last))) return undefined;
    this.#undecided.remove(last);
    return last;
  }

  /** Whether the others have told of it about when it was told. */
  #isSince(journey: OpenJourney, report: WitnessReport): boolean {
    return journey.direction === report.direction && this.#isAwaited(journey, report);
  }

  /** A pending join that nobody has shown who could tell whose it is. */
  #onlyByAddress(): OpenJourney | undefined {
    const { current } = this.changes;
    if (current?.direction !== "join" || !isPending(current)) return undefined;
    const isKnown = this.changes.sights.some((one) => one.passed === current.id && !one.byAddress);
    return isKnown ? undefined : current;
  }

  /** It does show, after all, what it was taken to have left out: the pod knows of nothing new. */
  #isBehind(witness: Witness, current: OpenJourney, pod: Witness | undefined): boolean {
    if (witness.hop === "pod" || pod === undefined) return false;
    const isAssumed = this.changes.sightOf(witness)?.isAssumed ?? false;
    return isAssumed && this.changes.shows(pod) === current.direction;
  }

  /** Whether the witness could be expected to show it when it told this. */
  #isAwaited(journey: OpenJourney, report: WitnessReport): boolean {
    return this.changes.canShow(journey, report) && !this.changes.hasLeftOut(journey, report);
  }

  #isFirstOf(witness: Witness): boolean {
    return witness.hop === "routed" && this.changes.sightOf(witness) === undefined;
  }

  /** Undefined when it is not of a change that the witness has yet to show. */
  #match(report: WitnessReport): Taken | undefined {
    const { witness } = report;
    const reports = [...this.#undecided.of(witness), report];
    const seen = this.changes.sightOf(witness)?.passed ?? 0;
    const { all } = this.changes;
    const canShow: CanShow<OpenJourney> = (one, word) => this.changes.canShow(one, word);
    const soonest = soonestFit(reports, all, canShow);
    if (soonest === undefined) {
      return this.decide(witness).length === 0 ? undefined : this.#match(report);
    }
    const next = this.#toCome(soonest);
    const latest = latestFit<Change>(reports, [...all, ...next], (one, word) =>
      one instanceof OpenJourney ? canShow(one, word) : true,
    );
    const isClear = isSameFit(soonest, latest);
    if (!isClear && reports.length < undecidedMax) {
      this.#undecided.add(report);
      this.#see(report, seen, { shown: this.changes.sightOf(witness)?.shown ?? 0 });
      return { type: "matched", journeys: [] };
    }
    this.#undecided.clear(witness);
    this.#show(soonest);
    return { type: "matched", journeys: soonest.map(([journey]) => journey) };
  }

  /**
   * Where it is open which changes it has left out, or whether it has left out any, it may also be
   * ahead of all, with the next.
   */
  #toCome(fit: Fit<OpenJourney>): readonly Change[] {
    const { current } = this.changes;
    const isOfPast = fit.some(([journey, report]) => this.changes.hasLeftOut(journey, report));
    if (current === undefined || (fit.length === 1 && !isOfPast)) return [];
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
    const { current } = this.changes;
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
    const pending = this.changes.pending;
    const behind = followers.filter((witness) => pending.some((one) => isAwaited(one, witness)));
    const journey = new OpenJourney(id, this, opening);
    this.changes.add(journey);
    if (report !== undefined) {
      journey.show(report);
      this.#see(report, id);
    }
    const unclear = this.changes.sights.filter((sight) => sight.unclear !== undefined);
    for (const witness of [...followers, ...unclear.map((sight) => sight.witness)]) {
      if (witness.hop === "traffic" || journey.isMarkedBy(witness)) continue;
      if (behind.includes(witness) || this.changes.shows(witness) !== journey.direction) continue;
      if (this.#undecided.of(witness).length > 0) continue;
      this.#agree(witness, journey);
    }
    return journey;
  }

  #withdraw(journey: OpenJourney, report: WitnessReport): Taken {
    this.changes.remove(journey);
    this.#see(report, this.changes.current?.id ?? 0);
    return { type: "withdrawn", journey };
  }

  #agree(witness: Witness, journey: OpenJourney): void {
    const { direction, originAt } = journey;
    const known = this.changes.sightOf(witness);
    if (known?.unclear !== undefined && originAt - known.at < settleMs) {
      // It was ahead, then, and makes the origin.
      journey.show(known.unclear);
    } else if (isPending(journey)) {
      // What it has shown of another change counts there, and not a second time here.
      const isElse = isOfChange(known) || known?.isBaseline === true;
      journey.agree(witness, isElse ? undefined : known?.at);
    }
    this.changes.see({
      witness,
      direction: known?.direction ?? direction,
      at: known?.at ?? originAt,
      passed: journey.id,
      shown: known?.shown ?? 0,
      byAddress: known?.byAddress ?? false,
      isBaseline: known?.isBaseline ?? false,
      isAssumed: false,
      unclear: undefined,
    });
  }

  #see(
    report: WitnessReport,
    passed: number,
    { shown = passed, unclear }: { readonly shown?: number; readonly unclear?: WitnessReport } = {},
  ): void {
    const { witness, direction, at, endpoint } = report;
    this.changes.see({
      witness,
      direction,
      at,
      isBaseline: report.baseline ?? false,
      passed,
      shown,
      byAddress: endpoint.podUid === undefined,
      isAssumed: false,
      unclear,
    });
  }
}

/** Whether it is known which change the witness showed; between two of them it is not. */
function isOfChange(sight: Sight | undefined): boolean {
  return sight !== undefined && sight.passed > 0 && Number.isInteger(sight.passed);
}
