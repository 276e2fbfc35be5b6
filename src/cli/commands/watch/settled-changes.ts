// When a change is worth its line. Mostly when it is over. One that every hop has shown is kept for a
// minute or more to hear of requests to its address; nobody should wait that long to read of it, so
// it is told after some seconds, and once more only if further requests have failed since.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { isAwaited } from "./in-flight.ts";

/** Proxies write their logs some seconds late. */
const tellAfterMs = 5_000;

interface Settled {
  journey: Journey;
  readonly since: MonotonicMs;
}

/** What is known of a change by now: requests to its address are not told one by one. */
type Latest = (journey: Journey) => Journey;

export class SettledChanges {
  /** By id, those that are not told yet, in the order in which they settled. */
  readonly #untold = new Map<number, Settled>();
  /** By id, how many requests had failed when it was told. */
  readonly #told = new Map<number, number>();

  /** The change that is to be told at once. */
  onEvent({ type, journey }: JourneyEvent, now: MonotonicMs): Journey | undefined {
    const { id } = journey;
    const told = this.#told.get(id);
    if (type !== "over") {
      const settled = this.#untold.get(id);
      if (told !== undefined || isAwaited(journey)) this.#untold.delete(id);
      else if (settled !== undefined) settled.journey = journey;
      else this.#untold.set(id, { journey, since: now });
      return undefined;
    }
    this.#untold.delete(id);
    this.#told.delete(id);
    return told === undefined || told < failedOf(journey) ? journey : undefined;
  }

  /** Those that have waited long enough. */
  due(now: MonotonicMs, latest: Latest): readonly Journey[] {
    const due: Journey[] = [];
    for (const [id, { journey, since }] of this.#untold) {
      if (elapsedMs(since, now) < tellAfterMs) break;
      const told = latest(journey);
      this.#untold.delete(id);
      this.#told.set(id, failedOf(told));
      due.push(told);
    }
    return due;
  }

  /** All that are not told yet, because nothing comes after. */
  takeAll(latest: Latest): readonly Journey[] {
    const untold = [...this.#untold.values()].map(({ journey }) => latest(journey));
    this.#untold.clear();
    return untold;
  }

  /** The oldest that are not told yet, at most so many. */
  oldest(most: number, latest: Latest): readonly Journey[] {
    return [...this.#untold.values()].slice(0, most).map(({ journey }) => latest(journey));
  }
}

function failedOf({ traffic }: Journey): number {
  return traffic?.failed ?? 0;
}
