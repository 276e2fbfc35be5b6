// Kept journeys as lines, in the columns of `lockstep watch`, with a line between the days.
import { visible } from "../../../decide/routing/shown-text.ts";
import type { WallMs } from "../../../environment/clock.ts";
import type { JourneyRecord } from "../../../timeline/journey-record.ts";
import { monotonicAt } from "../../../timeline/journey-record.ts";
import type { Paint } from "../../terminal/paint.ts";
import { changeColumns, headLine } from "../watch/change-columns.ts";
import { changeLine } from "../watch/change-line.ts";
import { isPodLate } from "../watch/hop-cell.ts";
import { shownHops } from "../watch/shown-hops.ts";
import { keptJourney, keptRun } from "./kept-journey.ts";
import type { KeptTally } from "./kept-tally.ts";

export interface ListOptions {
  readonly nowMs: WallMs;
  readonly width: number;
  readonly slowMs: number;
  readonly utc: boolean;
  readonly paint: Paint;
}

export function journeyList(
  records: readonly JourneyRecord[],
  tally: KeptTally,
  options: ListOptions,
): readonly string[] {
  const { nowMs, width, paint, utc } = options;
  const journeys = records.map(keptJourney);
  const columns = changeColumns({
    width,
    hops: shownHops({
      isWitnessed: (hop) => tally.isWitnessed(hop),
      wasPodLate: journeys.some((journey) => isPodLate(journey, options)),
    }),
    clusters: tally.clusters.map(visible),
  });
  const context = { ...options, run: keptRun, now: monotonicAt(nowMs, keptRun) };
  const today = dayOf(nowMs, utc);
  const days = records.map(({ originMs }) => dayOf(originMs, utc));
  return [
    headLine(columns, paint),
    ...journeys.flatMap((journey, at) => {
      const line = changeLine(journey, columns, context);
      const day = days[at];
      return day === undefined || day === (days[at - 1] ?? today)
        ? [line]
        : [paint.secondary(day), line];
    }),
  ];
}

/** `2026-03-01`. */
function dayOf(wallMs: WallMs, utc: boolean): string {
  const date = new Date(wallMs);
  const parts = utc
    ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
    : [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}
