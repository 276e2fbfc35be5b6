// The figures of `throttled-controller`, beside the write-up's. Pure. Lags are the longest of all
// releases and replicas; requests have one denominator on both sides.
import type { Journey } from "../../journeys/journey.ts";
import type { Direction } from "../../journeys/witness.ts";
import type { Tally } from "../traffic/tally.ts";
import type { Figure, IncidentFindings, Measure } from "./incident.ts";
import { longestLagMs } from "./shop-observer.ts";
import { lagMeasure, requestMeasures } from "./usual-measures.ts";

export interface Measures {
  /** Of all releases, complete. */
  readonly journeys: readonly Journey[];
  readonly stock: Tally;
  readonly lockstep: Tally;
  /** Undefined when the log has no line of throttling. */
  readonly loggedWaitMs: number | undefined;
}

const directions: readonly Direction[] = ["leave", "join"];

export function throttledFindings(
  measures: Measures,
  { isFixed }: { readonly isFixed: boolean },
): Pick<IncidentFindings, "figures" | "measures"> {
  const { journeys, stock, lockstep, loggedWaitMs } = measures;
  return {
    figures: [
      ...directions.map((direction) => publishedFigure(journeys, direction, isFixed)),
      {
        id: "longest-logged-wait",
        text: "longest wait in a log line",
        unit: "ms",
        measured: loggedWaitMs,
        expected: isFixed ? [] : [{ source: "write-up", text: "2.49 s", from: 2_400, to: 2_600 }],
      },
    ],
    measures: [
      ...directions.map((direction): Measure => lagMeasure(journeys, direction)),
      ...requestMeasures({ stock, lockstep }),
    ],
  };
}

/** Lockstep does not wait for what is published, so that hop is stock's alone. */
function publishedFigure(
  journeys: readonly Journey[],
  direction: Direction,
  isFixed: boolean,
): Figure {
  return {
    id: `longest-${direction}-lag-at-published`,
    text: `longest ${direction} lag at published`,
    unit: "ms",
    measured: longestLagMs(journeys, { direction, hop: "published" }),
    expected: [
      isFixed
        ? { source: "write-up", text: "at once" }
        : { source: "write-up", text: "30 s to 2 min", from: 30_000, to: 120_000 },
    ],
  };
}
