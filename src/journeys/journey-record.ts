// A journey as it is kept and handed to machines: plain data with wall times, the same in the JSON
// lines of `lockstep watch`, in the history and in what is asked of it. Wall times are made from the
// observer's one monotonic clock by one anchor, so their differences are exact.
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { HopState, Journey, Outcome } from "./journey.ts";
import type { Direction, Hop } from "./witness.ts";

export interface JourneyRecord {
  /** Unique among all runs of all observers: the run's name and the journey's number in it. */
  readonly id: string;
  readonly cluster: string | null;
  /** `namespace/name`. */
  readonly service: string;
  readonly address: string;
  readonly port: number;
  readonly podUid: string | null;
  readonly podName: string | null;
  readonly direction: Direction;
  readonly cause: string | null;
  /** By the observer's wall clock. */
  readonly originMs: WallMs;
  /** Learnt from a list: it happened after this, and not later than `originMs`. */
  readonly originNotBeforeMs: WallMs | null;
  readonly outcome: Outcome;
  readonly hops: readonly HopRecord[];
}

export interface HopRecord {
  readonly hop: Hop;
  readonly witness: string;
  readonly state: HopState["type"];
  /** From the origin; null unless the state is `shown`. */
  readonly lagMs: number | null;
}

/** One run of an observer: its name, and one instant by both of its clocks. */
export interface ObserverRun {
  readonly name: string;
  readonly wallMs: WallMs;
  readonly monotonicMs: MonotonicMs;
}

export function journeyRecord(journey: Journey, run: ObserverRun): JourneyRecord {
  const { endpoint, origin } = journey;
  return {
    id: `${run.name}-${journey.id}`,
    cluster: endpoint.cluster ?? null,
    service: endpoint.service,
    address: endpoint.address,
    port: endpoint.port,
    podUid: endpoint.podUid ?? null,
    podName: journey.podName ?? null,
    direction: journey.direction,
    cause: journey.cause ?? null,
    originMs: wallAt(origin.at, run),
    originNotBeforeMs: origin.notBefore === undefined ? null : wallAt(origin.notBefore, run),
    outcome: journey.outcome,
    hops: journey.hops.map(({ hop, witness, state }) => ({
      hop,
      witness,
      state: state.type,
      lagMs: state.type === "shown" ? state.lagMs : null,
    })),
  };
}

/** The wall time of a monotonic instant of this run. */
export function wallAt(instant: MonotonicMs, run: ObserverRun): WallMs {
  return (run.wallMs + (instant - run.monotonicMs)) as WallMs;
}

/** The monotonic instant of a wall time that was taken during this run, on this machine. */
export function monotonicAt(wall: WallMs, run: ObserverRun): MonotonicMs {
  return (run.monotonicMs + (wall - run.wallMs)) as MonotonicMs;
}
