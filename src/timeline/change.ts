// One change while its hops are being filled in. Invariant: the origin is the earliest of all times at
// which witnesses have shown it, so that no lag is ever negative; requests do not count for it.
import { assert, assertCostly } from "../environment/assert.ts";
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Due } from "../environment/due-queue.ts";
import type { EarlierChange } from "./earlier-changes.ts";
import { inOrderOfHops } from "./expectations.ts";
import type { ClusterTime, HopState, HopTime, Journey, Origin, Outcome } from "./journey.ts";
import type { Line } from "./line.ts";
import type { Observation } from "./observation.ts";
import type { HopWait } from "./pending-changes.ts";
import { RequestNotes } from "./request-notes.ts";
import {
  type ClusterStamp,
  type Direction,
  isSameWitness,
  type TrafficReport,
  type Witness,
  witnessId,
} from "./witness.ts";

/** How a change begins. */
export interface Beginning {
  readonly direction: Direction;
  readonly at: MonotonicMs;
  /** It happened after this, where the reference showed it late. */
  readonly notBefore?: MonotonicMs | undefined;
  /** A witness that showed it after this and before the reference only reported sooner. */
  readonly aheadFrom: MonotonicMs;
  /**
   * No witness has shown it begin: some disagree with the reference, which has it so. They have yet to
   * show it; when it began is unknown.
   */
  readonly isDisagreement?: true;
  /** An earlier run of the observer has seen it in flight. */
  readonly earlier?: EarlierChange | undefined;
}

/** The context that a snapshot needs beside the change itself. */
export interface SnapshotContext {
  /** The witnesses that are expected to show it, in the order of hops. */
  readonly expected: readonly Witness[];
  /** Whether the witness has gone on to a later change without showing this one. */
  readonly isPassedBy: (witness: Witness) => boolean;
  /** The cluster's own time, corrected for the difference of the clocks. */
  readonly clusterTime: (stamp: ClusterStamp) => ClusterTime;
}

interface Mark {
  readonly witness: Witness;
  readonly type: "shown" | "unchanged" | "quiet";
  /** When it was shown. */
  readonly at: MonotonicMs;
  readonly notBefore: MonotonicMs | undefined;
}

/** When and how a witness showed a change. */
export type Sighting = Pick<
  Observation,
  "witness" | "at" | "notBefore" | "podName" | "cause" | "clusterStamp"
>;

const none: readonly never[] = [];

export class Change implements Due {
  /** Rises from change to change, so of one endpoint's changes the later has the higher. */
  readonly id: number;
  /** The endpoint whose change it is. */
  readonly line: Line;
  readonly direction: Direction;
  readonly isDisagreement: boolean;
  /** When the reference showed it. */
  readonly begunAt: MonotonicMs;
  readonly aheadFrom: MonotonicMs;
  /** The id of its record in an earlier run. */
  readonly #continues: string | undefined;
  /** Invariant: at most one of each witness. */
  #marks: readonly Mark[] = none;
  /** Witnesses that are late beyond the budget and have been reported as such. */
  #stuck: readonly Witness[] = none;
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
  /** Written by `PendingChanges` alone. */
  waitingAt: readonly HopWait[] = none;

  constructor(id: number, line: Line, beginning: Beginning) {
    this.id = id;
    this.line = line;
    this.direction = beginning.direction;
    this.begunAt = beginning.at;
    this.aheadFrom = beginning.aheadFrom;
    this.isDisagreement = beginning.isDisagreement ?? false;
    this.#originAt = beginning.earlier?.since ?? beginning.at;
    this.#continues = beginning.earlier?.record;
    this.#podName = beginning.earlier?.podName;
    this.#cause = beginning.earlier?.cause;
    this.#notBefore = beginning.notBefore;
  }

  get originAt(): MonotonicMs {
    return this.#originAt;
  }

  get cause(): string | undefined {
    return this.#cause;
  }

  /** The latest request that it has to do with, or its origin. */
  get lastRequestAt(): MonotonicMs {
    return this.#requests?.lastAt ?? this.#originAt;
  }

  isMarkedBy(witness: Witness): boolean {
    return this.#markOf(witness) !== undefined;
  }

  isShownBy(witness: Witness): boolean {
    return this.#markOf(witness)?.type === "shown";
  }

  show({ witness, at, notBefore, podName, cause, clusterStamp }: Sighting): void {
    const isFirst = at < this.#originAt || (at === this.#originAt && notBefore === undefined);
    if (isFirst) {
      this.#originAt = at;
      this.#notBefore = notBefore;
    }
    assert(this.#originAt <= at, "no witness shows a change before its origin");
    this.#mark({ witness, type: "shown", at, notBefore });
    this.#podName ??= podName;
    const isPod = witness.hop === "pod";
    if (isPod || this.#cause === undefined) this.#cause = cause ?? this.#cause;
    if (isPod || this.#stamp === undefined) this.#stamp = clusterStamp ?? this.#stamp;
  }

  /** The witness had it so all along. */
  agree(witness: Witness): void {
    this.#mark({ witness, type: "unchanged", at: this.#originAt, notBefore: undefined });
  }

  /** The witness has yet to show it, though it was taken to have it so all along. */
  disagree(witness: Witness): void {
    if (this.#markOf(witness)?.type !== "unchanged") return;
    this.#marks = this.#marks.filter((mark) => !isSameWitness(mark.witness, witness));
  }

  /**
   * A request that was sent after the origin. True when it is the first to an address that joined,
   * as far as the log has reported: one that was sent before and took longer can only make it less.
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
    return this.#stuck.some((one) => isSameWitness(one, witness));
  }

  /** True the first time the witness is found late beyond its budget. */
  becomesStuck(witness: Witness, now: MonotonicMs, budgetMs: number): boolean {
    if (this.isStuckAt(witness) || elapsedMs(this.#originAt, now) < budgetMs) return false;
    this.#stuck = [...this.#stuck, witness];
    return true;
  }

  /** Drops all that is not needed once its end has been reported: the endpoint may live for days. */
  forget(): void {
    this.#marks = none;
    this.#stuck = none;
    this.#requests = undefined;
    this.#stamp = undefined;
  }

  snapshot(context: SnapshotContext): Journey {
    const traffic = this.direction === "leave" ? this.#requests?.totals : undefined;
    return {
      id: this.id,
      endpoint: this.line.endpoint,
      podName: this.#podName,
      direction: this.direction,
      cause: this.#cause,
      origin: this.#origin(),
      hops: this.#witnesses(context.expected).map((witness) => this.hopTime(witness, context)),
      outcome: this.outcome,
      ...(this.#continues !== undefined && { continues: this.#continues }),
      ...(this.#stamp && { clusterTime: context.clusterTime(this.#stamp) }),
      ...(traffic && { traffic }),
    };
  }

  hopTime(witness: Witness, context: Pick<SnapshotContext, "isPassedBy">): HopTime {
    return { hop: witness.hop, witness: witness.name, state: this.#stateAt(witness, context) };
  }

  #origin(): Origin {
    const origin = { at: this.#originAt, notBefore: this.#notBefore };
    return this.isDisagreement ? { ...origin, beforeStart: true } : origin;
  }

  /** Also those that have shown it unasked, and those that were stuck and are gone. */
  #witnesses(expected: readonly Witness[]): readonly Witness[] {
    const all = [...expected];
    for (const witness of [...this.#marks.map((mark) => mark.witness), ...this.#stuck]) {
      if (!all.some((one) => isSameWitness(one, witness))) all.push(witness);
    }
    return all.length === expected.length ? expected : all.sort(inOrderOfHops);
  }

  #stateAt(witness: Witness, { isPassedBy }: Pick<SnapshotContext, "isPassedBy">): HopState {
    const mark = this.#markOf(witness);
    if (mark?.type === "shown") return this.#shown(mark);
    if (mark !== undefined) return { type: mark.type };
    if (isPassedBy(witness)) return { type: "passed" };
    return { type: this.isStuckAt(witness) ? "stuck" : "pending" };
  }

  #shown({ at, notBefore }: Mark): HopState {
    const lagMs = elapsedMs(this.#originAt, at);
    const isExact = notBefore === undefined && this.#notBefore === undefined;
    if (isExact && !this.isDisagreement) return { type: "shown", lagMs };
    const minMs = Math.max(0, elapsedMs(this.#originAt, notBefore ?? at));
    const maxMs = this.isDisagreement
      ? undefined
      : elapsedMs(this.#notBefore ?? this.#originAt, at);
    return { type: "shown", lagMs, range: { minMs, maxMs } };
  }

  #markOf(witness: Witness): Mark | undefined {
    return this.#marks.find((mark) => isSameWitness(mark.witness, witness));
  }

  #mark(mark: Mark): void {
    const others = this.#marks.filter(({ witness }) => !isSameWitness(witness, mark.witness));
    this.#marks = [...others, mark];
    assertCostly(
      () => new Set(this.#marks.map((one) => witnessId(one.witness))).size === this.#marks.length,
      "a change has one mark of each witness",
      this.#marks.length,
    );
  }
}
