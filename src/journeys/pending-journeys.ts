// The journeys that are not over: in the order of opening, by the hops that they wait at, and by
// when each has to be looked at again. Invariant: the queues hold no journey that is not in here.
import type { MonotonicMs } from "../environment/clock.ts";
import { DueQueue } from "../environment/due-queue.ts";
import type { OpenJourney } from "./open-journey.ts";
import { type OldestPending, WaitingHops } from "./waiting-hops.ts";
import type { Hop } from "./witness.ts";

export class PendingJourneys {
  /** In the order of opening. */
  readonly #journeys = new Set<OpenJourney>();
  readonly #due = new DueQueue<OpenJourney>();
  readonly #waiting = new WaitingHops();

  get size(): number {
    return this.#journeys.size;
  }

  /** The one that was opened first. */
  get oldest(): OpenJourney | undefined {
    for (const journey of this.#journeys) return journey;
    return undefined;
  }

  /** The oldest, at most so many. */
  first(most: number): readonly OpenJourney[] {
    const oldest: OpenJourney[] = [];
    for (const journey of this.#journeys) {
      if (oldest.length >= most) break;
      oldest.push(journey);
    }
    return oldest;
  }

  add(journey: OpenJourney): void {
    this.#journeys.add(journey);
  }

  delete(journey: OpenJourney): void {
    this.#journeys.delete(journey);
    this.#due.delete(journey);
    this.#waiting.set(journey, []);
  }

  waitAt(journey: OpenJourney, hops: readonly Hop[]): void {
    this.#waiting.set(journey, hops);
  }

  lookAgain(journey: OpenJourney, at: number): void {
    this.#due.set(journey, at);
  }

  /** What has to be looked at first, if that is not later than `now`. */
  firstDue(now: MonotonicMs): OpenJourney | undefined {
    return this.#due.firstDue(now);
  }

  /** Per cluster, hop and direction. */
  oldestWaiting(now: MonotonicMs): readonly OldestPending[] {
    return this.#waiting.oldest(now);
  }
}
