// The charts that most incidents share: how late each change was at each hop, and how many requests
// were lost until when. All on the time of the stage. Pure.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { Hop } from "../../timeline/witness.ts";
import type { SideName } from "../comparison/side.ts";
import { lossOf } from "../traffic/tally.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";
import type { Series } from "./incident.ts";

/** One instant on both clocks: the observer's and the stage's. */
export interface SameInstant {
  readonly observer: MonotonicMs;
  readonly stageMs: number;
}

const sides: readonly SideName[] = ["stock", "lockstep"];

/** When each change began, and its lag at `published` and at the replicas of both sides. */
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
    { id: "lag-published", text: "published", unit: "ms", points: lags("published", "") },
    ...sides.map(
      (side): Series => ({
        id: `lag-routed-${side}`,
        text: "routed",
        unit: "ms",
        side,
        points: lags("routed", `${side}-`),
      }),
    ),
  ];
}

/** How many were lost until each moment, by when their clients knew. */
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
