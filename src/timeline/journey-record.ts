// A journey as it is kept and handed to machines: plain data with wall times, the same in the JSON
// lines of `lockstep watch`, in the history and in what is asked of it. Wall times are made from the
// observer's one monotonic clock by one anchor, so their differences are exact.
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { EarlierChange } from "./earlier-changes.ts";
import type { HopState, HopTime, Journey, LagRange, LeaveTraffic, Outcome } from "./journey.ts";
import type { Direction, Hop } from "./witness.ts";

export interface JourneyRecord {
  /**
   * Unique among all runs of all observers: the run's name and the journey's number in it. A journey that a
   * later run finds in flight keeps its id.
   */
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
  /** It happened at some time before the observation began, which was at `originMs`. */
  readonly originBeforeStart?: true;
  readonly outcome: Outcome;
  readonly hops: readonly HopRecord[];
  /** The second in which it happened by the cluster's own clock. */
  readonly clusterTimeMs?: WallMs;
  /** How long before the origin that was, with the difference of the clocks taken out. */
  readonly clusterBeforeOriginMs?: RangeRecord;
  /** Requests to the address after it left. */
  readonly traffic?: TrafficRecord;
}

/** `max` is null when there is no telling. */
export interface RangeRecord {
  readonly min: number;
  readonly max: number | null;
}

export interface TrafficRecord {
  readonly requests: number;
  readonly failed: number;
  readonly lastFailedMs: WallMs | null;
}

export interface HopRecord {
  readonly hop: Hop;
  readonly witness: string;
  readonly state: HopState["type"];
  /** From the origin; null unless the state is `shown`. */
  readonly lagMs: number | null;
  /** There when the lag is not known exactly. */
  readonly lagRangeMs?: RangeRecord;
}

/** One run of an observer: its name, and one instant by both of its clocks. */
export interface ObserverRun {
  readonly name: string;
  readonly wallMs: WallMs;
  readonly monotonicMs: MonotonicMs;
}

export function journeyRecord(journey: Journey, run: ObserverRun): JourneyRecord {
  const { endpoint, origin, clusterTime, traffic } = journey;
  return {
    id: journey.continues ?? `${run.name}-${journey.id}`,
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
    ...(origin.beforeStart && { originBeforeStart: true }),
    outcome: journey.outcome,
    hops: journey.hops.map(hopRecord),
    ...(clusterTime && { clusterTimeMs: clusterTime.at }),
    ...(clusterTime?.beforeOriginMs && {
      clusterBeforeOriginMs: rangeRecord(clusterTime.beforeOriginMs),
    }),
    ...(traffic && { traffic: trafficRecord(traffic, run) }),
  };
}

/** A change that was in flight when an earlier run ended, on the clock of this run. */
export function earlierChange(record: JourneyRecord, run: ObserverRun): EarlierChange {
  const { cluster, service, address, port, podUid } = record;
  return {
    record: record.id,
    endpoint: {
      cluster: cluster ?? undefined,
      service,
      address,
      port,
      podUid: podUid ?? undefined,
    },
    direction: record.direction,
    since: monotonicAt(record.originMs, run),
    podName: record.podName ?? undefined,
    cause: record.cause ?? undefined,
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

function hopRecord({ hop, witness, state }: HopTime): HopRecord {
  const shown = state.type === "shown" ? state : undefined;
  return {
    hop,
    witness,
    state: state.type,
    lagMs: shown?.lagMs ?? null,
    ...(shown?.range && { lagRangeMs: rangeRecord(shown.range) }),
  };
}

function rangeRecord({ minMs, maxMs }: LagRange): RangeRecord {
  return { min: minMs, max: maxMs ?? null };
}

function trafficRecord(traffic: LeaveTraffic, run: ObserverRun): TrafficRecord {
  const { requests, failed, lastFailedAt } = traffic;
  const lastFailedMs = lastFailedAt === undefined ? null : wallAt(lastFailedAt, run);
  return { requests, failed, lastFailedMs };
}
