// The changes that are not over: in the order of opening, by the hops that have yet to show them, so
// that the oldest is found without looking at all, and by when each has to be looked at again. Requests
// are not waited for in this sense: a quiet service is not a late one. Invariant: the queues hold no
// change that is not in here.
import { assert, assertCostly } from "../environment/assert.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import { type Due, DueQueue } from "../environment/due-queue.ts";
import type { Change } from "./change.ts";
import type { Direction, Hop } from "./witness.ts";

/** The oldest change that witnesses of a hop have yet to show. */
export interface OldestPending {
  readonly cluster: string;
  readonly hop: Hop;
  readonly direction: Direction;
  readonly ageMs: number;
}

/** A change that waits at a hop, in the order of origins. */
export interface HopWait extends Due {
  readonly queue: DueQueue<HopWait>;
}

interface HopQueue extends Omit<OldestPending, "ageMs"> {
  readonly waits: DueQueue<HopWait>;
}

/**
 * Invariant: a change is in the queues of the hops that it waits at, and in no others, and stands
 * there by the origin that it had when it was last set.
 */
class WaitingHops {
  readonly #queues = new Map<string, HopQueue>();

  /** From now on the change waits at these hops; at none when it is over or superseded. */
  set(change: Change, hops: readonly Hop[]): void {
    const before = change.waitingAt;
    if (hops.length === 0 && before.length === 0) return;
    const waits = hops.map((hop) => {
      const queue = this.#queueOf(change, hop);
      return before.find((wait) => wait.queue === queue) ?? { queue, dueAt: 0, place: -1 };
    });
    for (const wait of before) if (!waits.includes(wait)) wait.queue.delete(wait);
    // A witness that shows it later may report an earlier instant.
    for (const wait of waits) wait.queue.set(wait, change.originAt);
    change.waitingAt = waits;
    assertCostly(
      () => waits.every(({ place, dueAt }) => place !== -1 && dueAt === change.originAt),
      "a change stands by its origin in the queue of every hop that it waits at",
      waits.length,
    );
  }

  /** Per cluster, hop and direction. */
  oldest(now: MonotonicMs): readonly OldestPending[] {
    return [...this.#queues.values()].flatMap(({ waits, ...place }) => {
      const first = waits.firstDue(Infinity);
      return first === undefined ? [] : [{ ...place, ageMs: Math.max(0, now - first.dueAt) }];
    });
  }

  #queueOf({ line, direction }: Change, hop: Hop): DueQueue<HopWait> {
    const { cluster = "" } = line.endpoint;
    const key = `${hop} ${direction} ${cluster}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known.waits;
    const waits = new DueQueue<HopWait>();
    this.#queues.set(key, { cluster, hop, direction, waits });
    return waits;
  }
}

export class PendingChanges {
  /** In the order of opening. */
  readonly #changes = new Set<Change>();
  readonly #due = new DueQueue<Change>();
  readonly #waiting = new WaitingHops();

  get size(): number {
    return this.#changes.size;
  }

  /** The one that was opened first. */
  get oldest(): Change | undefined {
    for (const change of this.#changes) return change;
    return undefined;
  }

  /** The oldest, at most so many. */
  first(most: number): readonly Change[] {
    const oldest: Change[] = [];
    for (const change of this.#changes) {
      if (oldest.length >= most) break;
      oldest.push(change);
    }
    return oldest;
  }

  add(change: Change): void {
    this.#changes.add(change);
  }

  delete(change: Change): void {
    this.#changes.delete(change);
    this.#due.delete(change);
    this.#waiting.set(change, []);
    assert(
      change.place === -1 && change.waitingAt.length === 0,
      "a change that is over is in no queue",
    );
  }

  waitAt(change: Change, hops: readonly Hop[]): void {
    assert(this.#changes.has(change), "only a pending change waits at hops");
    this.#waiting.set(change, hops);
  }

  lookAgain(change: Change, at: number): void {
    assert(this.#changes.has(change), "only a pending change is due");
    this.#due.set(change, at);
  }

  /** The change that must be checked first, if it is due by `now`. */
  firstDue(now: MonotonicMs): Change | undefined {
    return this.#due.firstDue(now);
  }

  /** Per cluster, hop and direction. */
  oldestWaiting(now: MonotonicMs): readonly OldestPending[] {
    return this.#waiting.oldest(now);
  }
}
