// The journeys that ended most recently, for queries.
import type { Journey } from "../timeline/journey.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";

/** Enough for the findings that are made of them. */
const defaultMax = 500;

export class RecentJourneys {
  readonly #max: number;
  #over: Journey[] = [];

  constructor(max = defaultMax) {
    this.#max = max;
  }

  readonly onEvent = (event: JourneyEvent): void => {
    if (event.type !== "over") return;
    this.#over.push(event.journey);
    if (this.#over.length > 2 * this.#max) this.#over = this.#over.slice(-this.#max);
  };

  get all(): readonly Journey[] {
    return this.#over.slice(-this.#max);
  }
}
