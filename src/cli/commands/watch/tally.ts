// The counts since the start for view and summary: changes in flight, lags at each hop, slowest
// changes, outcomes. Memory is bounded by the changes in flight and the number of clusters.
import { type MonotonicMs, monotonicAfter } from "../../../environment/clock.ts";
import { isFirstReported } from "../../../timeline/first-reported.ts";
import {
  type HopState,
  type HopTime,
  hasExactOrigin,
  isAwaited,
  type Journey,
  type Outcome,
} from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { measuredLagMs } from "../../../timeline/lag-bound.ts";
import { LagFigures, RecentLags, type ShownLags } from "../../../timeline/lag-figures.ts";
import type { Direction, Hop } from "../../../timeline/witness.ts";
import { isLate, isPodLate } from "./hop-cell.ts";
import { InFlight } from "./in-flight.ts";

interface WatchTallyOptions {
  /** Lags at or above this are slow. */
  readonly slowMs: number;
}

/** The lags are those of the last hop that showed the change. */
interface ClusterTally {
  readonly changes: number;
  readonly lags: Readonly<Record<Direction, LagFigures>>;
}

const slowestMax = 5;

export class WatchTally {
  readonly #slowMs: number;
  readonly inFlight = new InFlight();
  /** By hop and direction. */
  readonly #lags = new Map<string, { readonly all: LagFigures; readonly recent: RecentLags }>();
  readonly #clusters = new Map<string, { changes: number; lags: Record<Direction, LagFigures> }>();
  readonly #outcomes = new Map<Outcome, number>();
  /** Slowest first. */
  #slowest: readonly { readonly journey: Journey; readonly lagMs: number }[] = [];
  /** Hops with a source that showed or should show a change; requests are never expected. */
  readonly #witnessed = new Set<Hop>();
  #wasPodLate = false;
  #changes = 0;
  #slow = 0;
  #everStuck = 0;
  #inexact = 0;

  constructor({ slowMs }: WatchTallyOptions) {
    this.#slowMs = slowMs;
  }

  onEvent(event: JourneyEvent): void {
    const { journey } = event;
    if (!this.inFlight.has(journey) && event.type !== "over") this.#began(journey);
    for (const { hop, state } of journey.hops) {
      if (hop !== "traffic" || state.type !== "pending") this.#witnessed.add(hop);
    }
    if ((journey.traffic?.requests ?? 0) > 0) this.#witnessed.add("traffic");
    this.#wasPodLate ||= isPodLate(journey, { slowMs: this.#slowMs });
    switch (event.type) {
      case "shown": {
        const { hop, state } = event.hop;
        const lagMs = isFirstReported(journey, event.hop) ? undefined : measuredLagMs(state);
        if (lagMs !== undefined) this.#addLag(hop, journey, lagMs);
        if (this.#isSlow(event.hop) && this.#isFirstSlow(journey)) this.#slow += 1;
        if (!isAwaited(journey)) this.#rank(journey);
        this.inFlight.set(journey);
        break;
      }
      case "found":
        this.inFlight.set(journey);
        break;
      case "stuck":
        if (!this.inFlight.isStuck(journey)) this.#everStuck += 1;
        this.inFlight.set(journey);
        break;
      case "over":
        this.inFlight.delete(journey);
        this.#ended(journey);
        break;
    }
  }

  /** The current states: a new source can agree with a change without an event. */
  refresh(pending: readonly Journey[]): void {
    for (const journey of pending) {
      if (this.inFlight.has(journey)) this.inFlight.set(journey);
    }
  }

  get changes(): number {
    return this.#changes;
  }

  /** Changes that a hop showed late, except `traffic`; stuck changes count once they are shown. */
  get slow(): number {
    return this.#slow;
  }

  /** Changes that were stuck at least once. */
  get everStuck(): number {
    return this.#everStuck;
  }

  /** Changes without an exact start: reported late, or begun before the observer. */
  get inexact(): number {
    return this.#inexact;
  }

  get slowest(): readonly Journey[] {
    return this.#slowest.map(({ journey }) => journey);
  }

  outcome(outcome: Outcome): number {
    return this.#outcomes.get(outcome) ?? 0;
  }

  isWitnessed(hop: Hop): boolean {
    return this.#witnessed.has(hop);
  }

  /** A pod watch showed a change late, or not at all. */
  get wasPodLate(): boolean {
    return this.#wasPodLate;
  }

  /** Undefined without changes at this hop. */
  lags(hop: Hop, direction: Direction): LagFigures | undefined {
    return this.#lags.get(`${hop} ${direction}`)?.all;
  }

  /** Of the last 15 minutes; undefined without changes at this hop. */
  recentLags(hop: Hop, direction: Direction, now: MonotonicMs): ShownLags | undefined {
    return this.#lags.get(`${hop} ${direction}`)?.recent.at(now);
  }

  cluster(name: string): ClusterTally | undefined {
    return this.#clusters.get(name);
  }

  #began(journey: Journey): void {
    this.#changes += 1;
    if (!hasExactOrigin(journey)) this.#inexact += 1;
    this.#clusterOf(journey).changes += 1;
  }

  #ended(journey: Journey): void {
    this.#outcomes.set(journey.outcome, this.outcome(journey.outcome) + 1);
    const lagMs = longestLagMs(journey);
    if (lagMs !== undefined) this.#clusterOf(journey).lags[journey.direction].add(lagMs);
    this.#rank(journey);
  }

  /** Updates the list of the slowest changes. */
  #rank(journey: Journey): void {
    const others = this.#slowest.filter((one) => one.journey.id !== journey.id);
    const lagMs = longestLagMs(journey, (state) => measuredLagMs(state) ?? certainLagMs(state));
    const ranked = lagMs === undefined ? others : [...others, { journey, lagMs }];
    this.#slowest = ranked.sort((a, b) => b.lagMs - a.lagMs).slice(0, slowestMax);
  }

  /** Exactly one hop was late so far. */
  #isFirstSlow({ hops }: Journey): boolean {
    return hops.filter((one) => this.#isSlow(one)).length === 1;
  }

  #isSlow({ hop, state }: HopTime): boolean {
    return hop !== "traffic" && isLate(state, { slowMs: this.#slowMs });
  }

  #addLag(hop: Hop, { direction, origin }: Journey, lagMs: number): void {
    const key = `${hop} ${direction}`;
    const figures = this.#lags.get(key) ?? { all: new LagFigures(), recent: new RecentLags() };
    this.#lags.set(key, figures);
    figures.all.add(lagMs);
    figures.recent.add(lagMs, monotonicAfter(origin.at, lagMs));
  }

  #clusterOf({ endpoint }: Journey) {
    const name = endpoint.cluster ?? "";
    const known = this.#clusters.get(name) ?? {
      changes: 0,
      lags: { join: new LagFigures(), leave: new LagFigures() },
    };
    this.#clusters.set(name, known);
    return known;
  }
}

/**
 * The longest lag; undefined when no hop has shown the change. `traffic` depends on clients, and
 * `pod` is the start of the change, so neither counts.
 */
function longestLagMs(
  journey: Journey,
  lagOf: (state: HopState) => number | undefined = measuredLagMs,
): number | undefined {
  const lags = journey.hops.flatMap((one) => {
    const isCounted = one.hop !== "traffic" && one.hop !== "pod" && !isFirstReported(journey, one);
    return isCounted ? (lagOf(one.state) ?? []) : [];
  });
  return lags.length === 0 ? undefined : Math.max(...lags);
}

/** The certain minimum. */
function certainLagMs(state: HopState): number | undefined {
  return state.type === "shown" ? (state.range?.minMs ?? state.lagMs) : undefined;
}
