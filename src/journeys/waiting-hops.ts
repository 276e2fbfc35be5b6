// Which changes each hop has yet to show, so that the oldest is found without looking at all that
// is pending. Requests are not waited for in this sense: a quiet service is not a late one.
import type { MonotonicMs } from "../environment/clock.ts";
import { type Due, DueQueue } from "../environment/due-queue.ts";
import type { OpenJourney } from "./open-journey.ts";
import type { Direction, Hop } from "./witness.ts";

/** The oldest change that witnesses of a hop have yet to show. */
export interface OldestPending {
  readonly cluster: string;
  readonly hop: Hop;
  readonly direction: Direction;
  readonly ageMs: number;
}

/** A journey that waits at a hop, in the order of origins. */
export interface HopWait extends Due {
  readonly queue: DueQueue<HopWait>;
}

interface HopQueue extends Omit<OldestPending, "ageMs"> {
  readonly waits: DueQueue<HopWait>;
}

/**
 * Invariant: a journey is in the queues of the hops that it waits at, and in no others, and stands
 * there by the origin that it had when it was last set.
 */
export class WaitingHops {
  readonly #queues = new Map<string, HopQueue>();

  /** From now on the journey waits at these hops; at none when it is over or superseded. */
  set(journey: OpenJourney, hops: readonly Hop[]): void {
    const before = journey.waitingAt;
    if (hops.length === 0 && before.length === 0) return;
    const waits = hops.map((hop) => {
      const queue = this.#queueOf(journey, hop);
      return before.find((wait) => wait.queue === queue) ?? { queue, dueAt: 0, place: -1 };
    });
    for (const wait of before) if (!waits.includes(wait)) wait.queue.delete(wait);
    // Whoever shows it later may tell of an earlier instant.
    for (const wait of waits) wait.queue.set(wait, journey.originAt);
    journey.waitingAt = waits;
  }

  /** Per cluster, hop and direction. */
  oldest(now: MonotonicMs): readonly OldestPending[] {
    return [...this.#queues.values()].flatMap(({ waits, ...place }) => {
      const first = waits.firstDue(Infinity);
      return first === undefined ? [] : [{ ...place, ageMs: Math.max(0, now - first.dueAt) }];
    });
  }

  #queueOf({ endpoint, direction }: OpenJourney, hop: Hop): DueQueue<HopWait> {
    const { cluster = "" } = endpoint;
    const key = `${hop} ${direction} ${cluster}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known.waits;
    const waits = new DueQueue<HopWait>();
    this.#queues.set(key, { cluster, hop, direction, waits });
    return waits;
  }
}
