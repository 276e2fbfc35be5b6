// A journey while its hops are being filled in. Invariant: the origin is the earliest of all times
// that witnesses have shown it at, so that no lag is ever negative; requests do not count for it.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Due } from "../environment/due-queue.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import { inOrderOfHops } from "./followers.ts";
import type { ClusterTime, HopState, HopTime, Journey, Origin, Outcome } from "./journey.ts";
import { RequestNotes } from "./request-notes.ts";
import type { HopWait } from "./waiting-hops.ts";
import {
  type ClusterStamp,
  type Direction,
  type TrafficReport,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  witnessId,
} from "./witness.ts";

/** What opens a journey: a report, or that witnesses disagree when the observation begins. */
export type Opening = Pick<WitnessReport, "direction" | "endpoint" | "at" | "notBefore"> & {
  readonly beforeStart?: true;
};

/** What a snapshot needs to know beside the journey itself. */
export interface SnapshotContext {
  readonly followers: readonly Witness[];
  /** The cluster's word about the time, corrected for the difference of the clocks. */
  readonly clusterTime: (stamp: ClusterStamp) => ClusterTime;
}

interface Mark {
  readonly witness: Witness;
  readonly type: "shown" | "unchanged" | "quiet";
  /** Of what is shown. */
  readonly at: MonotonicMs;
  readonly notBefore: MonotonicMs | undefined;
}

export class OpenJourney implements Due {
  /** Rises from journey to journey, so of one endpoint's journeys the later has the higher. */
  readonly id: number;
  readonly direction: Direction;
  readonly track: EndpointTrack;
  readonly #beforeStart: boolean;
  /** At most one of each witness. */
  #marks: Mark[] = [];
  /** Witnesses that are late beyond the budget and have been reported as such. */
  #stuck: Witness[] | undefined;
  #requests: RequestNotes | undefined;
  #podName: string | undefined;
  #cause: string | undefined;
  #stamp: ClusterStamp | undefined;
  #originAt: MonotonicMs;
  #notBefore: MonotonicMs | undefined;
  /** `pending` until it is over. */
  outcome: Outcome = "pending";
  /** Since when only requests are waited for. */
  shownEverywhereAt: MonotonicMs | undefined;
  dueAt = 0;
  place = -1;
  /** Written by `WaitingHops` alone. */
  waitingAt: readonly HopWait[] = [];

  constructor(id: number, track: EndpointTrack, opening: Opening) {
    this.id = id;
    this.track = track;
    this.direction = opening.direction;
    this.#originAt = opening.at;
    this.#notBefore = opening.notBefore;
    this.#beforeStart = opening.beforeStart ?? false;
  }

  get originAt(): MonotonicMs {
    return this.#originAt;
  }

  get endpoint(): WitnessedEndpoint {
    return this.track.endpoint;
  }

  /** The latest request that it has to do with, or its origin. */
  get lastRequestAt(): MonotonicMs {
    return this.#requests?.lastAt ?? this.#originAt;
  }

  /**
   * Whether replicas, and requests that they have sent, are all that shows it: replicas also act on
   * what they alone have seen.
   */
  get isOnlyRouted(): boolean {
    const isRouted = ({ witness: { hop } }: Mark): boolean => hop === "routed" || hop === "traffic";
    return !this.#beforeStart && this.#marks.every(isRouted);
  }

  isMarkedBy(witness: Witness): boolean {
    return this.#markOf(witness) !== undefined;
  }

  show(report: WitnessReport): void {
    const { witness, at, notBefore, podName, cause, clusterStamp } = report;
    if (at < this.#originAt || (at === this.#originAt && notBefore === undefined)) {
      this.#originAt = at;
      this.#notBefore = notBefore;
    }
    this.#mark({ witness, type: "shown", at, notBefore });
    this.#podName ??= podName;
    if (witness.hop === "pod" || this.#cause === undefined) this.#cause = cause ?? this.#cause;
    if (witness.hop === "pod" || this.#stamp === undefined) {
      this.#stamp = clusterStamp ?? this.#stamp;
    }
  }

  /** The witness agreed at that instant; before the origin it had it so all along. */
  agree(witness: Witness, at: MonotonicMs | undefined): void {
    // At the start itself nothing has changed yet.
    const firstAt = this.#beforeStart ? this.#originAt + 1 : this.#originAt;
    const type = at !== undefined && at >= firstAt ? "shown" : "unchanged";
    this.#mark({ witness, type, at: at ?? this.#originAt, notBefore: undefined });
  }

  /**
   * A request that was sent after the origin. True when it is the first to an address that joined,
   * as far as the log has told: one that was sent before and took longer can only make it less.
   */
  request(report: TrafficReport): boolean {
    this.#requests ??= new RequestNotes(this.#originAt);
    this.#requests.note(report);
    if (this.direction === "leave") return false;
    const isFirst = !this.isMarkedBy(report.witness);
    const at = this.#requests.by(report.witness)?.firstAt ?? report.at;
    this.#mark({ witness: report.witness, type: "shown", at, notBefore: undefined });
    return isFirst;
  }

  /** No more requests are waited for. True when there was a last one to an address that left. */
  endRequests(witness: Witness): boolean {
    if (this.isMarkedBy(witness)) return false;
    const at = this.#requests?.by(witness)?.lastAt;
    const type = at === undefined ? "quiet" : "shown";
    this.#mark({ witness, type, at: at ?? this.#originAt, notBefore: undefined });
    return type === "shown";
  }

  isStuckAt(witness: Witness): boolean {
    return this.#stuck?.some((one) => isSameWitness(one, witness)) ?? false;
  }

  /** True the first time the witness is found late beyond its budget. */
  becomesStuck(witness: Witness, now: MonotonicMs, budgetMs: number): boolean {
    if (this.isStuckAt(witness) || elapsedMs(this.#originAt, now) < budgetMs) return false;
    this.#stuck = [...(this.#stuck ?? []), witness];
    return true;
  }

  /** What is no longer needed once its end has been told: the endpoint may live on for days. */
  forget(): void {
    this.#marks = [];
    this.#stuck = undefined;
    this.#requests = undefined;
    this.#stamp = undefined;
  }

  snapshot({ followers, clusterTime }: SnapshotContext): Journey {
    const traffic = this.direction === "leave" ? this.#requests?.totals : undefined;
    return {
      id: this.id,
      endpoint: this.endpoint,
      podName: this.#podName,
      direction: this.direction,
      cause: this.#cause,
      origin: this.#origin(),
      hops: this.#witnesses(followers).map((witness) => this.hopTime(witness)),
      outcome: this.outcome,
      ...(this.#stamp && { clusterTime: clusterTime(this.#stamp) }),
      ...(traffic && { traffic }),
    };
  }

  hopTime(witness: Witness): HopTime {
    return { hop: witness.hop, witness: witness.name, state: this.#stateAt(witness) };
  }

  #origin(): Origin {
    const origin = { at: this.#originAt, notBefore: this.#notBefore };
    return this.#beforeStart ? { ...origin, beforeStart: true } : origin;
  }

  /**
   * Those that are waited for, those that have shown it unasked, and those that were found stuck: a
   * replica that is heard no more has not shown it all the same.
   */
  #witnesses(followers: readonly Witness[]): readonly Witness[] {
    const all = [...followers];
    for (const witness of [...this.#marks.map((mark) => mark.witness), ...(this.#stuck ?? [])]) {
      if (!all.some((one) => isSameWitness(one, witness))) all.push(witness);
    }
    return all.length === followers.length ? followers : all.sort(inOrderOfHops);
  }

  #stateAt(witness: Witness): HopState {
    const mark = this.#markOf(witness);
    if (mark?.type === "shown") return this.#shown(mark);
    if (mark !== undefined) return { type: mark.type };
    if (this.track.changes.isPassedBy(witness, this)) return { type: "passed" };
    return { type: this.isStuckAt(witness) ? "stuck" : "pending" };
  }

  #shown({ at, notBefore }: Mark): HopState {
    const lagMs = elapsedMs(this.#originAt, at);
    const isExact = notBefore === undefined && this.#notBefore === undefined;
    if (isExact && !this.#beforeStart) return { type: "shown", lagMs };
    const minMs = Math.max(0, elapsedMs(this.#originAt, notBefore ?? at));
    const maxMs = elapsedMs(this.#notBefore ?? this.#originAt, at);
    return { type: "shown", lagMs, range: { minMs, maxMs: this.#beforeStart ? undefined : maxMs } };
  }

  #markOf(witness: Witness): Mark | undefined {
    return this.#marks.find((mark) => isSameWitness(mark.witness, witness));
  }

  #mark(mark: Mark): void {
    const index = this.#marks.findIndex(({ witness }) => isSameWitness(witness, mark.witness));
    if (index === -1) this.#marks.push(mark);
    else this.#marks[index] = mark;
  }
}

function isSameWitness(a: Witness, b: Witness): boolean {
  return a === b || witnessId(a) === witnessId(b);
}
