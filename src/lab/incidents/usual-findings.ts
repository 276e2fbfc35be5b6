// The charts and measures that most incidents share: the lag of each change at each hop, requests lost over
// time, and what happened to the same requests on both sides. Charts are on the time of the stage. Pure.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { Direction, Hop } from "../../timeline/witness.ts";
import type { SideName } from "../comparison/side.ts";
import { lossOf, type Tally } from "../traffic/tally.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";
import type { Measure, Series } from "./incident.ts";
import { longestLagMs } from "./shop-observer.ts";

/** One instant on both clocks: the observer's and the stage's. */
export interface SameInstant {
  readonly observer: MonotonicMs;
  readonly stageMs: number;
}

const sides: readonly SideName[] = ["stock", "lockstep"];

/** For each change its start, and its lag at `published` and at the replicas of both sides. */
export function lagSeries(journeys: readonly Journey[], instant: SameInstant): readonly Series[] {
  const lags = (hop: Hop, witnesses: string) =>
    journeys
      .flatMap(({ origin, hops }) =>
        hops.flatMap(({ hop: at, witness, state }) =>
          at === hop && witness.startsWith(witnesses) && state.type === "shown"
            ? [[stageMs(origin.at, instant), state.lagMs] as const]
            : [],
        ),
      )
      .sort(byTime);
  return [
    { id: "lag-published", text: "in Endpoints", unit: "ms", points: lags("published", "") },
    ...sides.map(
      (side): Series => ({
        id: `lag-routed-${side}`,
        text: "at the proxies",
        unit: "ms",
        side,
        points: lags("routed", `${side}-`),
      }),
    ),
  ];
}

/** Requests lost so far, at the times at which their clients noticed. */
export function lostSeries(
  results: readonly TrafficResult[],
  instant: SameInstant,
): readonly Series[] {
  return sides.map((side) => {
    const own = results
      .filter(({ entry }) => entry === side)
      .map((result) => [stageMs(result.doneAt, instant), lossOf(result)] as const)
      .sort(byTime);
    let lost = 0;
    const points = own.map(([atMs, loss]) => {
      lost += loss === undefined ? 0 : 1;
      return [atMs, lost] as const;
    });
    return { id: `lost-${side}`, text: "requests lost", unit: "requests", side, points };
  });
}

function stageMs(at: MonotonicMs, instant: SameInstant): number {
  return instant.stageMs - elapsedMs(at, instant.observer);
}

function byTime(one: readonly [number, unknown], other: readonly [number, unknown]): number {
  return one[0] - other[0];
}

/**
 * In quiet times a change takes some messages and a push: milliseconds in virtual time, some hundred
 * milliseconds in real time on a busy machine. Stock takes seconds.
 */
const quietLagMs = 500;

/** The longest of all replicas of a side. */
export function lagMeasure(journeys: readonly Journey[], direction: Direction): Measure {
  const routed = (side: SideName) =>
    longestLagMs(journeys, { direction, hop: "routed", witnesses: `${side}-` });
  const lockstep = routed("lockstep");
  return {
    id: `longest-${direction}-lag-at-routed`,
    text: `slowest ${direction === "leave" ? "removal" : "addition"} at a proxy`,
    unit: "ms",
    stock: routed("stock"),
    lockstep,
    goal: "at most 500 ms",
    held: lockstep !== undefined && lockstep <= quietLagMs,
    ...(direction === "leave" && { isHeadline: true }),
  };
}

/** Both sides got the same requests. */
export function requestMeasures({
  stock,
  lockstep,
}: Readonly<Record<SideName, Tally>>): readonly Measure[] {
  return [
    {
      id: "requests-sent",
      text: "requests sent",
      unit: "requests",
      stock: stock.requests,
      lockstep: lockstep.requests,
      goal: undefined,
      held: true,
    },
    {
      id: "requests-to-dead",
      text: "requests to dead pods",
      unit: "requests",
      stock: stock.sentToDead,
      lockstep: lockstep.sentToDead,
      goal: undefined,
      held: true,
    },
    {
      id: "requests-lost",
      text: "requests lost",
      unit: "requests",
      stock: stock.lost,
      lockstep: lockstep.lost,
      goal: "none",
      held: lockstep.lost === 0,
      isHeadline: true,
    },
  ];
}
