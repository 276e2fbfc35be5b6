// Changes from their opening to their end: which witnesses are still waited for, when each change has to be
// looked at again, what is stuck and what is over; and the events of all that.
import { assert, assertCostly } from "../environment/assert.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Change } from "./change.ts";
import type { ClusterTime, Journey, Outcome } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import { abandonAfterMs, type HopBudgets, keptMax, trafficQuietMs } from "./journey-limits.ts";
import { type Line, type Settled, settlesAt } from "./line.ts";
import { type OldestPending, PendingChanges } from "./pending-changes.ts";
import type { Standings } from "./standings.ts";
import type { ClusterStamp, Hop, Witness } from "./witness.ts";

export interface LiveChangesOptions {
  readonly standings: Standings;
  readonly budgetMs: HopBudgets;
  /** More are let go, the oldest first. */
  readonly pendingMax: number;
  /** Called synchronously. */
  readonly onEvent: (event: JourneyEvent) => void;
  /** The cluster's own time, corrected for the difference of the clocks. */
  readonly clusterTime: (stamp: ClusterStamp, change: Change) => ClusterTime;
}

export class LiveChanges {
  readonly #options: LiveChangesOptions;
  readonly #standings: Standings;
  readonly #pending = new PendingChanges();

  constructor(options: LiveChangesOptions) {
    this.#options = options;
    this.#standings = options.standings;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Oldest first, at most so many. */
  first(most: number): readonly Journey[] {
    return this.#pending.first(most).map((change) => this.#snapshot(change));
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestWaiting(now: MonotonicMs): readonly OldestPending[] {
    return this.#pending.oldestWaiting(now);
  }

  add(change: Change): void {
    const { own } = change.line;
    assert((own.at(-1)?.id ?? 0) < change.id, "the ids of a line's changes rise");
    own.push(change);
    this.#pending.add(change);
  }

  /** The change is a disagreement, and its sources are known. */
  found(change: Change): void {
    this.#options.onEvent({ type: "found", journey: this.#snapshot(change) });
  }

  /** Witnesses have shown changes; a change that is over stays as it is. */
  shown(settled: readonly Settled[]): void {
    for (const { change, witness } of settled) {
      if (change.outcome === "pending") this.#emit("shown", change, witness);
    }
  }

  /** Those that are due, each once: a look at one may leave it due, and another of its place again. */
  *due(now: MonotonicMs): Generator<Change, void, undefined> {
    const looked = new Set<Change>();
    for (;;) {
      const change = this.#pending.firstDue(now);
      if (change === undefined) return;
      if (looked.has(change)) this.#pending.lookAgain(change, now + 1);
      else yield change;
      looked.add(change);
    }
  }

  /** Reports each witness that is late beyond its budget, once. */
  findStuck(change: Change, now: MonotonicMs): void {
    for (const witness of this.#standings.expectedOf(change)) {
      if (witness.hop === "traffic" || this.#standings.isDone(change, witness)) continue;
      if (!change.becomesStuck(witness, now, this.#options.budgetMs[witness.hop])) continue;
      this.#emit("stuck", change, witness);
    }
  }

  /** Ends it where it is waited for too long. */
  abandonIfOld(change: Change, now: MonotonicMs): void {
    if (change.outcome !== "pending" || now - change.originAt < abandonAfterMs) return;
    this.end(change, "abandoned");
  }

  /** Which witnesses are still waited for, and when the change has to be looked at again. */
  review(change: Change, now: MonotonicMs): void {
    const { waitingAt, waitsForRequests, dueAt } = this.#pendingHops(change, now);
    const isCurrent = change.line.own.at(-1) === change;
    this.#pending.waitAt(change, isCurrent ? waitingAt : []);
    if (waitingAt.length > 0) {
      change.shownEverywhereAt = undefined;
      this.#pending.lookAgain(change, dueAt);
      return;
    }
    change.shownEverywhereAt ??= now;
    const quietAt = Math.max(change.shownEverywhereAt, change.lastRequestAt) + trafficQuietMs;
    if (waitsForRequests && now < quietAt) this.#pending.lookAgain(change, quietAt);
    else this.end(change, doneAs(change));
  }

  /** The first request to an address that joined shows that. */
  requestShown(change: Change, witness: Witness): void {
    this.#emit("shown", change, witness);
  }

  end(change: Change, outcome: Outcome): void {
    for (const witness of this.#standings.expectedOf(change)) {
      if (witness.hop !== "traffic" || !change.endRequests(witness)) continue;
      this.#emit("shown", change, witness);
    }
    assert(change.outcome === "pending", "a change ends once");
    change.outcome = outcome;
    this.#pending.delete(change);
    this.#options.onEvent({ type: "over", journey: this.#snapshot(change) });
    change.forget();
    this.#trim(change.line);
  }

  /** Ends all that is pending on the line, because its room is needed. */
  drop({ own }: Line): void {
    for (const change of own.slice()) {
      if (change.outcome === "pending") this.end(change, "dropped");
    }
  }

  /** An endpoint that flaps on and on loses its oldest changes. */
  bound(line: Line): void {
    const [oldest] = line.own;
    if (line.own.length <= keptMax || oldest === undefined) return;
    if (oldest.outcome === "pending") this.end(oldest, "dropped");
    if (line.own[0] === oldest) line.own.shift();
  }

  /** Lets the oldest go when too many are pending. */
  makeRoom(): void {
    const { oldest } = this.#pending;
    if (this.#pending.size <= this.#options.pendingMax || oldest === undefined) return;
    this.end(oldest, oldest.shownEverywhereAt === undefined ? "dropped" : doneAs(oldest));
  }

  #pendingHops(change: Change, now: MonotonicMs) {
    const { budgetMs } = this.#options;
    const waitingAt: Hop[] = [];
    let dueAt = change.originAt + abandonAfterMs;
    let waitsForRequests = false;
    for (const witness of this.#standings.expectedOf(change)) {
      const { hop } = witness;
      if (hop === "traffic") {
        waitsForRequests ||= !change.isMarkedBy(witness);
        continue;
      }
      if (this.#standings.isDone(change, witness)) continue;
      if (!waitingAt.includes(hop)) waitingAt.push(hop);
      const standing = this.#standings.standingOf(change, witness);
      if (standing !== undefined) {
        const changes = this.#standings.changesOf(standing.line);
        dueAt = Math.min(dueAt, settlesAt(standing.cursor, changes, now) ?? dueAt);
      }
      const isStuck = change.isStuckAt(witness);
      if (!isStuck) dueAt = Math.min(dueAt, change.originAt + budgetMs[hop]);
    }
    return { waitingAt, waitsForRequests, dueAt };
  }

  /**
   * Changes that are over are kept for witnesses that are behind. The last one is kept for requests, and
   * for a pod watch that does not follow the service yet: its first step shows this change again.
   */
  #trim(line: Line): void {
    const { own, cursors } = line;
    const reference = this.#standings.referenceOf(line);
    const hasRequests = this.#standings.expectedAt(line).at(-1)?.hop === "traffic";
    const isLastKept = reference?.hop !== "pod" || hasRequests;
    const kept = isLastKept ? 1 : 0;
    const { addresses } = line.place;
    const all = [...cursors, ...addresses.flatMap((address) => address.cursors)];
    const isPassed = ({ id, outcome }: Change): boolean =>
      outcome !== "pending" && all.every(({ through }) => through >= id);
    while (own.length > kept && own[0] !== undefined && isPassed(own[0])) own.shift();
    assertCostly(
      () => own.length <= kept || own[0] === undefined || !isPassed(own[0]),
      "a change that is over and passed by all is not kept",
      own.length,
    );
  }

  #emit(type: "shown" | "stuck", change: Change, witness: Witness): void {
    const isPassedBy = (one: Witness): boolean => this.#standings.isDone(change, one);
    const hop = change.hopTime(witness, { isPassedBy });
    this.#options.onEvent({ type, journey: this.#snapshot(change), hop });
  }

  #snapshot(change: Change): Journey {
    return change.snapshot({
      expected: this.#standings.expectedOf(change),
      isPassedBy: ({ hop, name }) =>
        hop !== "traffic" && this.#standings.isDone(change, { hop, name }),
      clusterTime: (stamp) => this.#options.clusterTime(stamp, change),
    });
  }
}

function doneAs(change: Change): Outcome {
  return change.line.own.at(-1) === change ? "complete" : "superseded";
}
