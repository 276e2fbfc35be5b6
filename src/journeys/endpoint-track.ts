// The history of one endpoint as its witnesses tell it. Joins and leaves alternate; each witness
// goes through them in order, at its own pace, and may leave some out but never goes back. From that
// follows which change a report belongs to, and when it must be a new one.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import { EndpointChanges, isPending } from "./endpoint-changes.ts";
import type { Followers } from "./followers.ts";
import { settleMs } from "./journey-limits.ts";
import { type Opening, OpenJourney } from "./open-journey.ts";
import { isAwaited } from "./outlook.ts";
import type { Fit } from "./report-fit.ts";
import { ReportMatches } from "./report-matches.ts";
import { isOfCluster } from "./strangers.ts";
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
  /** Words on the endpoint are held back: what proves that all has been told may have come with them. */
  readonly areHeld: boolean;
  /** All that a witness had to tell of the service until then has been told, as far as is known. */
  readonly provedAt: (witness: Witness, service: string) => MonotonicMs | undefined;
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
  readonly matches = new ReportMatches(this.changes);
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

  /**
   * Who is expected to show its changes; remembered, because every report asks several times. Also
   * who has shown some and is followed no more, as long as it is not decided which.
   */
  followers(all: Followers): readonly Witness[] {
    if (this.#followersVersion !== all.version) {
      this.#followers = all.of(this.#endpoint);
      this.#followersVersion = all.version;
    }
    return this.matches.withWitnesses(this.#followers);
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

  /** `nextId` is for the journey that this may open. */
  take(report: WitnessReport, followers: readonly Witness[], nextId: number): Taken {
    const { witness, direction } = report;
    if (report.baseline === true) return this.#takeBaseline(report);
    const matched = this.matches.match(report);
    if (matched !== undefined) return { type: "matched", journeys: matched };
    const { current } = this.changes;
    const pod = followers.find(({ hop }) => hop === "pod");
    const known = current?.direction ?? (pod && this.changes.shows(pod));
    // It may also take back what others have taken back before.
    if (known === direction || this.#hasShownWithdrawn(witness)) {
      this.changes.note(report, current?.id ?? 0);
      return { type: current === undefined ? "earlier" : "repeated" };
    }
    const isRecent = current !== undefined && elapsedMs(current.originAt, report.at) < settleMs;
    if (known === "leave" && isRecent && this.#isFirstOf(witness)) {
      // A replica that is new to us begins with what others have just taken back: it is behind.
      this.changes.note(report, 0);
      return { type: "baseline" };
    }
    if (current !== undefined && this.#isBehind(witness, current, pod)) {
      // Before the current change and after all others: what it shows next may be the current one.
      this.changes.note(report, current.id - 0.5, { unclear: report });
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
  settle({ now, witnesses, followers, areHeld, provedAt }: SettleOptions): Settlement {
    const { current } = this.changes;
    const shown: (readonly [OpenJourney, WitnessReport])[] = [];
    const news: WitnessReport[] = [];
    if (current === undefined) return { shown, news };
    for (const witness of witnesses) {
      const undecided = this.matches.undecided(witness);
      if (undecided === undefined) {
        const settlesAt = this.settlesAt(witness, current);
        const isOver = settlesAt !== undefined && settlesAt <= now;
        // Also who begins to be followed when the current change is over and an older one is not.
        if (isOver && this.changes.pending.length > 0) this.#assume(witness, current);
        continue;
      }
      if (undecided.at + settleMs > now) continue;
      const isLate = undecided.notBefore !== undefined;
      const { service } = this.#endpoint;
      const isProved = !areHeld && (provedAt(witness, service) ?? now) > undecided.at;
      if (isLate && !isProved) continue;
      // How its pods' own cluster says that it stands is so: if all else is known, that is new.
      const isJudge = isJudgeAmong(followers, witness);
      const last = isJudge ? this.matches.takeNews(witness, current.direction) : undefined;
      shown.push(...this.matches.decide(witness));
      if (last === undefined) continue;
      this.changes.note({ ...last, direction: current.direction }, current.id);
      news.push(last);
    }
    return { shown, news };
  }

  /** When it is taken to agree; undefined when it does not, or what it said is not decided. */
  settlesAt(witness: Witness, journey: OpenJourney): number | undefined {
    if (witness.hop === "traffic") return undefined;
    if (journey !== this.changes.current || journey.isMarkedBy(witness)) return undefined;
    if (this.changes.shows(witness) !== journey.direction) return undefined;
    if (this.matches.undecided(witness) !== undefined) return undefined;
    return Math.max(journey.originAt, this.changes.sightOf(witness)?.at ?? 0) + settleMs;
  }

  /**
   * The witness is gone for good. What it has said is decided, and what it alone has shown, of which
   * its pod's cluster knows nothing, nobody will ever show to the end.
   */
  forget(witness: Witness): {
    readonly shown: readonly OpenJourney[];
    readonly withdrawn: OpenJourney | undefined;
  } {
    const shown = this.matches.decide(witness).map(([journey]) => journey);
    this.changes.unsee(witness);
    const { current, sights } = this.changes;
    if (current === undefined || !isPending(current) || !current.isOnlyRouted) {
      return { shown, withdrawn: undefined };
    }
    if (sights.some((one) => one.shown === current.id)) return { shown, withdrawn: undefined };
    this.changes.remove(current);
    return { shown, withdrawn: current };
  }

  #assume(witness: Witness, current: OpenJourney): void {
    this.changes.agree(witness, current);
    const sight = this.changes.sightOf(witness);
    if (sight !== undefined) this.changes.see({ ...sight, isAssumed: true });
  }

  /** It does show, after all, what it was taken to have left out: the pod knows of nothing new. */
  #isBehind(witness: Witness, current: OpenJourney, pod: Witness | undefined): boolean {
    if (witness.hop === "pod" || pod === undefined) return false;
    const isAssumed = this.changes.sightOf(witness)?.isAssumed ?? false;
    return isAssumed && this.changes.shows(pod) === current.direction;
  }

  #hasShownWithdrawn(witness: Witness): boolean {
    const { passed = 0 } = this.changes.sightOf(witness) ?? {};
    return passed > (this.changes.current?.id ?? 0);
  }

  #isFirstOf(witness: Witness): boolean {
    return witness.hop === "routed" && this.changes.sightOf(witness) === undefined;
  }

  #takeBaseline(report: WitnessReport): Taken {
    const { current } = this.changes;
    const isBefore = current !== undefined && current.direction !== report.direction;
    this.matches.clear(report.witness);
    // One that has yet to follow the current change stands before it, and will show it.
    this.changes.note(report, (current?.id ?? 0) - (isBefore ? 0.5 : 0));
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
      this.changes.note(report, id);
    }
    const unclear = this.changes.sights.filter((sight) => sight.unclear !== undefined);
    for (const witness of [...followers, ...unclear.map((sight) => sight.witness)]) {
      if (witness.hop === "traffic" || journey.isMarkedBy(witness)) continue;
      if (behind.includes(witness) || this.changes.shows(witness) !== journey.direction) continue;
      if (this.matches.undecided(witness) !== undefined) continue;
      this.changes.agree(witness, journey);
    }
    return journey;
  }

  #withdraw(journey: OpenJourney, report: WitnessReport): Taken {
    this.changes.remove(journey);
    this.changes.note(report, this.changes.current?.id ?? 0);
    return { type: "withdrawn", journey };
  }
}

/** Whether the witness is the cluster's own, and the nearest to the pods. */
function isJudgeAmong([nearest]: readonly Witness[], witness: Witness): boolean {
  if (nearest === undefined || !isOfCluster(nearest)) return false;
  return witnessId(nearest) === witnessId(witness);
}
