// The figures of `throttled-controller` as rows, beside the write-up's. Pure. Lags are the longest
// of all releases and replicas; requests have one denominator on both sides.
import type { Journey } from "../../journeys/journey.ts";
import type { Direction } from "../../journeys/witness.ts";
import type { Tally } from "../traffic/tally.ts";
import type { IncidentRow } from "./incident.ts";
import { longestLagMs } from "./shop-observer.ts";

export interface Measures {
  /** Of all releases, complete. */
  readonly journeys: readonly Journey[];
  readonly stock: Tally;
  readonly lockstep: Tally;
  /** Undefined when the log has no line of throttling. */
  readonly loggedWaitMs: number | undefined;
}

/** What the write-up says, without and with its fix. */
const writeUp = {
  lag: { before: "30 s to 2 min", after: "at once" },
  loggedWait: { before: "2.49 s", after: "" },
} as const;

export function throttledRows(
  measures: Measures,
  { isFixed }: { readonly isFixed: boolean },
): readonly IncidentRow[] {
  const { stock, lockstep, loggedWaitMs } = measures;
  const said = isFixed ? "after" : "before";
  const requests = (measure: string, of: (tally: Tally) => number): IncidentRow => ({
    measure,
    writeUp: "",
    stock: of(stock),
    lockstep: of(lockstep),
    unit: "requests",
  });
  return [
    ...lagRows(measures, "leave", writeUp.lag[said]),
    ...lagRows(measures, "join", writeUp.lag[said]),
    {
      measure: "longest wait in a log line",
      writeUp: writeUp.loggedWait[said],
      stock: loggedWaitMs,
      lockstep: undefined,
      unit: "ms",
    },
    requests("requests sent", (tally) => tally.requests),
    requests("requests to dead pods", (tally) => tally.sentToDead),
    requests("requests lost", (tally) => tally.lost),
  ];
}

/** Lockstep does not wait for what is published, so that hop is stock's alone. */
function lagRows(
  { journeys }: Measures,
  direction: Direction,
  said: string,
): readonly IncidentRow[] {
  const routed = (witnesses: string) =>
    longestLagMs(journeys, { direction, hop: "routed", witnesses });
  return [
    {
      measure: `longest ${direction} lag at published`,
      writeUp: said,
      stock: longestLagMs(journeys, { direction, hop: "published" }),
      lockstep: undefined,
      unit: "ms",
    },
    {
      measure: `longest ${direction} lag at routed`,
      writeUp: "",
      stock: routed("stock-"),
      lockstep: routed("lockstep-"),
      unit: "ms",
    },
  ];
}
