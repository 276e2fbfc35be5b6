// Changes that an observer reported, live or from recordings, as one body of evidence. Each run has its
// own clock, so the ends of all runs count as the same instant: ages of changes in flight stay right.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { JourneyEvent } from "../../timeline/journey-event.ts";
import type { JourneyEvidence } from "./evidence.ts";

/** The newest of one run; more of them say the same. */
const keptMax = 20_000;

export class SeenChanges {
  readonly #runs: JourneyEvidence[] = [];

  /** A run that is over. */
  add(run: JourneyEvidence): void {
    this.#runs.push(run);
  }

  /** Undefined when nothing was observed; an observation without a change is evidence too. */
  get evidence(): JourneyEvidence | undefined {
    const [first, ...others] = this.#runs;
    if (first === undefined) return undefined;
    const moved = others.flatMap(({ journeys, nowMs }) =>
      journeys.map((journey) => movedBy(journey, first.nowMs - nowMs)),
    );
    return { ...first, journeys: [...first.journeys, ...moved] };
  }
}

/** Takes the events of one run. */
export class ChangeCollector {
  readonly #journeys = new Map<number, Journey>();

  readonly onEvent = ({ journey }: JourneyEvent): void => {
    this.#journeys.set(journey.id, journey);
    if (this.#journeys.size <= keptMax) return;
    for (const [oldest] of this.#journeys) {
      this.#journeys.delete(oldest);
      return;
    }
  };

  get journeys(): readonly Journey[] {
    return [...this.#journeys.values()];
  }
}

function movedBy(journey: Journey, ms: number): Journey {
  const { at, notBefore, ...origin } = journey.origin;
  const moved = (instant: MonotonicMs): MonotonicMs => (instant + ms) as MonotonicMs;
  const earliest = notBefore === undefined ? undefined : moved(notBefore);
  return { ...journey, origin: { ...origin, at: moved(at), notBefore: earliest } };
}
