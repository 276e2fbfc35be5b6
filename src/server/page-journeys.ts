// The journeys that the page can show: all in flight, and the newest that are over. Events of the
// observer keep it current; the observer's own bound on pending changes bounds those in flight.
import { hasStuckHop, isAwaited, type Journey } from "../timeline/journey.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";

/** Some hours of an ordinary cluster, a rollout of a large one; about 2 kB each. */
const overMax = 2_000;

/** Invariant: `#inFlight` and `#stuck` count the pending journeys in their last state. */
export class PageJourneys {
  /** In the order of their first event. */
  readonly #pending = new Map<number, Journey>();
  /** Oldest first; cut to `overMax` when it is twice as long. */
  #over: Journey[] = [];
  /** Changed since they were last taken; undefined while no page wants them. */
  #changed: Map<number, Journey> | undefined;
  #inFlight = 0;
  #stuck = 0;

  onEvent({ type, journey }: JourneyEvent): void {
    this.#changed?.set(journey.id, journey);
    if (type !== "over") {
      this.#set(journey);
      return;
    }
    this.#delete(journey);
    this.#over.push(journey);
    if (this.#over.length >= 2 * overMax) this.#over = this.#over.slice(-overMax);
  }

  /** The current states: a new source can agree with a change without an event. */
  refresh(pending: readonly Journey[]): void {
    for (const journey of pending) {
      if (this.#pending.has(journey.id)) this.#set(journey);
    }
  }

  /** Changes that a hop has yet to show; those that only wait for requests do not count. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get stuck(): number {
    return this.#stuck;
  }

  /** Changes that are not over, with those that only wait for requests. */
  get pending(): Iterable<Journey> {
    return this.#pending.values();
  }

  /** The newest that are over, oldest first. */
  get over(): readonly Journey[] {
    return this.#over.slice(-overMax);
  }

  /** Of all changes that are kept: requests to endpoints that had left. */
  get toRemoved(): { readonly requests: number; readonly failed: number } {
    const sum = { requests: 0, failed: 0 };
    for (const { traffic } of [...this.over, ...this.pending]) {
      sum.requests += traffic?.requests ?? 0;
      sum.failed += traffic?.failed ?? 0;
    }
    return sum;
  }

  /** From now on changed journeys are collected, or no longer. */
  collectChanged(isWanted: boolean): void {
    this.#changed = isWanted ? (this.#changed ?? new Map()) : undefined;
  }

  /** Those that changed since the last call, the newest state of each; the rest is counted. */
  takeChanged(most: number): { readonly journeys: readonly Journey[]; readonly leftOut: number } {
    const changed = this.#changed;
    if (changed === undefined || changed.size === 0) return { journeys: [], leftOut: 0 };
    this.#changed = new Map();
    const journeys = [...changed.values()].slice(-most);
    return { journeys, leftOut: changed.size - journeys.length };
  }

  has({ id }: Pick<Journey, "id">): boolean {
    return this.#pending.has(id);
  }

  #set(journey: Journey): void {
    this.#count(this.#pending.get(journey.id), -1);
    this.#pending.set(journey.id, journey);
    this.#count(journey, 1);
  }

  #delete({ id }: Journey): void {
    this.#count(this.#pending.get(id), -1);
    this.#pending.delete(id);
  }

  #count(journey: Journey | undefined, by: 1 | -1): void {
    if (journey === undefined || !isAwaited(journey)) return;
    this.#inFlight += by;
    if (hasStuckHop(journey)) this.#stuck += by;
  }
}
