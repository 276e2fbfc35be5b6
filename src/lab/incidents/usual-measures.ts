// The success measures that most incidents share: how late endpoints change at the replicas, and
// what became of the same requests on both sides. Pure.
import type { Journey } from "../../timeline/journey.ts";
import type { Direction } from "../../timeline/witness.ts";
import type { SideName } from "../comparison/side.ts";
import type { Tally } from "../traffic/tally.ts";
import type { Measure } from "./incident.ts";
import { longestLagMs } from "./shop-observer.ts";

/**
 * What a change takes in quiet times: some messages of a network of milliseconds, and a push; in real
 * time on a machine that is busy with everything else some hundred. Stock takes seconds.
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
    goal: "as in quiet times",
    held: lockstep !== undefined && lockstep <= quietLagMs,
    ...(direction === "leave" && { isHeadline: true }),
  };
}

/** All over the same requests. */
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
