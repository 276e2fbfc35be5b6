// Which changes each hop has yet to show, so that the oldest is found without looking at all that
// is pending. Requests are not waited for in this sense: a quiet service is not a late one.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { OpenJourney } from "./open-journey.ts";
import type { Direction, Hop } from "./witness.ts";

/** The oldest change that witnesses of a hop have yet to show. */
export interface OldestPending {
  readonly cluster: string;
  readonly hop: Hop;
  readonly direction: Direction;
  readonly ageMs: number;
}

interface Queue extends Omit<OldestPending, "ageMs"> {
  /** In the order in which they were heard of, which is that of their origins or nearly so. */
  readonly journeys: Set<OpenJourney>;
}

/** Invariant: a journey is in the queues of the hops that it waits at, and in no others. */
export class WaitingHops {
  readonly #queues = new Map<string, Queue>();

  /** From now on the journey waits at these hops; at none when it is over or superseded. */
  set(journey: OpenJourney, hops: readonly Hop[]): void {
    if (hops.length === 0 && journey.waitingAt.length === 0) return;
    const queues = hops.map((hop) => this.#queueOf(journey, hop));
    for (const queue of journey.waitingAt) if (!queues.includes(queue)) queue.delete(journey);
    for (const queue of queues) queue.add(journey);
    journey.waitingAt = queues;
  }

  /** Per cluster, hop and direction. */
  oldest(now: MonotonicMs): readonly OldestPending[] {
    const found: OldestPending[] = [];
    for (const { cluster, hop, direction, journeys } of this.#queues.values()) {
      for (const { originAt } of journeys) {
        found.push({ cluster, hop, direction, ageMs: Math.max(0, elapsedMs(originAt, now)) });
        break;
      }
    }
    return found;
  }

  #queueOf({ endpoint, direction }: OpenJourney, hop: Hop): Set<OpenJourney> {
    const { cluster = "" } = endpoint;
    const key = `${hop} ${direction} ${cluster}`;
    const known = this.#queues.get(key);
    if (known !== undefined) return known.journeys;
    const journeys = new Set<OpenJourney>();
    this.#queues.set(key, { cluster, hop, direction, journeys });
    return journeys;
  }
}
