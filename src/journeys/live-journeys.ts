// The journeys from the report that opens them to their end: who is still waited for, when each has
// to be looked at again, what is stuck and what is over; and all of it is told as it happens.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { EndpointTrack } from "./endpoint-track.ts";
import type { ClusterTime, Journey, Outcome } from "./journey.ts";
import type { JourneyEvent } from "./journey-event.ts";
import { abandonAfterMs, aheadMs, type JourneyLimits, trafficQuietMs } from "./journey-limits.ts";
import type { OpenJourney } from "./open-journey.ts";
import { isAwaited, outlookOf } from "./outlook.ts";
import { PendingJourneys } from "./pending-journeys.ts";
import { isOfCluster } from "./strangers.ts";
import type { OldestPending } from "./waiting-hops.ts";
import type { ClusterStamp, Witness } from "./witness.ts";

export interface LiveJourneysOptions extends Pick<Required<JourneyLimits>, "budgetMs"> {
  /** More are let go, the oldest first. */
  readonly pendingMax: number;
  readonly onEvent: (event: JourneyEvent) => void;
  /** One of its journeys is over, and that has been told. */
  readonly onOver: (track: EndpointTrack) => void;
  readonly followersOf: (track: EndpointTrack) => readonly Witness[];
  readonly clusterTime: (stamp: ClusterStamp, journey: OpenJourney) => ClusterTime;
}

export class LiveJourneys {
  readonly #options: LiveJourneysOptions;
  readonly #pending = new PendingJourneys();

  constructor(options: LiveJourneysOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** Oldest first, at most so many. */
  first(most: number): readonly Journey[] {
    return this.#pending.first(most).map((journey) => this.#snapshot(journey));
  }

  /** Per cluster, hop and direction; a superseded change is no longer waited for. */
  oldestWaiting(now: MonotonicMs): readonly OldestPending[] {
    return this.#pending.oldestWaiting(now);
  }

  add(journey: OpenJourney): void {
    this.#pending.add(journey);
  }

  /** The witness has shown these; what is over already does not change any more. */
  shown(journeys: readonly OpenJourney[], witness: Witness): void {
    for (const journey of journeys) {
      if (journey.outcome === "pending") this.#emit("shown", journey, witness);
    }
  }

  /** What has to be looked at first, if that is not later than `now`. */
  firstDue(now: MonotonicMs): OpenJourney | undefined {
    return this.#pending.firstDue(now);
  }

  /** Whoever is late beyond the budget is told of once. */
  findStuck(journey: OpenJourney, now: MonotonicMs): void {
    const { followersOf, budgetMs } = this.#options;
    for (const witness of followersOf(journey.track)) {
      if (witness.hop === "traffic" || !isAwaited(journey, witness)) continue;
      if (!journey.becomesStuck(witness, now, budgetMs[witness.hop])) continue;
      this.#emit("stuck", journey, witness);
    }
  }

  /** It has been looked at. */
  looked(journey: OpenJourney, now: MonotonicMs): void {
    if (journey.outcome !== "pending") return;
    if (elapsedMs(journey.originAt, now) >= abandonAfterMs) this.end(journey, "abandoned", now);
    // Sums and differences of fractions may disagree about what is due: look only once.
    else if (journey.dueAt <= now) this.#pending.lookAgain(journey, now + 1);
  }

  /** Who is still waited for, and when the journey has to be looked at again. */
  review(journey: OpenJourney, now: MonotonicMs): void {
    const { track } = journey;
    const { followersOf, budgetMs } = this.#options;
    const followers = followersOf(track);
    const outlook = outlookOf(journey, followers, budgetMs);
    this.#pending.waitAt(journey, journey === track.changes.current ? outlook.waitingAt : []);
    if (outlook.waitingAt.length > 0) {
      journey.shownEverywhereAt = undefined;
      this.#pending.lookAgain(journey, outlook.dueAt);
      return;
    }
    journey.shownEverywhereAt ??= now;
    const quietFrom = Math.max(journey.shownEverywhereAt, journey.lastRequestAt);
    const quietAt = Math.min(quietFrom + trafficQuietMs, outlook.dueAt);
    // Of a service that is new a proxy can know before the cluster's own watches have told of it.
    const toldAt = followers.some(isOfCluster) ? -Infinity : journey.originAt + aheadMs;
    const doneAt = Math.max(outlook.waitsForRequests ? quietAt : -Infinity, toldAt);
    if (now < doneAt) this.#pending.lookAgain(journey, doneAt);
    else this.end(journey, doneAs(journey), now);
  }

  /** Lets the oldest go when there are too many. */
  makeRoom(now: MonotonicMs): void {
    const { oldest } = this.#pending;
    if (this.#pending.size <= this.#options.pendingMax || oldest === undefined) return;
    const isDone = oldest.shownEverywhereAt !== undefined;
    this.end(oldest, isDone ? doneAs(oldest) : "dropped", now);
  }

  end(journey: OpenJourney, outcome: Outcome, now: MonotonicMs): void {
    const { track } = journey;
    for (const witness of this.#options.followersOf(track)) {
      if (witness.hop !== "traffic" || !journey.endRequests(witness)) continue;
      this.#emit("shown", journey, witness);
    }
    journey.outcome = outcome;
    this.#pending.delete(journey);
    track.changes.letGo(now);
    this.#options.onEvent({ type: "over", journey: this.#snapshot(journey) });
    journey.forget();
    this.#options.onOver(track);
  }

  #emit(type: "shown" | "stuck", journey: OpenJourney, witness: Witness): void {
    const hop = journey.hopTime(witness);
    this.#options.onEvent({ type, journey: this.#snapshot(journey), hop });
  }

  #snapshot(journey: OpenJourney): Journey {
    const { followersOf, clusterTime } = this.#options;
    return journey.snapshot({
      followers: followersOf(journey.track),
      clusterTime: (stamp) => clusterTime(stamp, journey),
    });
  }
}

function doneAs(journey: OpenJourney): Outcome {
  return journey.track.changes.isSuperseded(journey) ? "superseded" : "complete";
}
