// Which of the words of one witness on one endpoint count that were held back and show nothing that
// is open. All, where they are what happened, in order; where that is in doubt, only how they ended,
// and nothing where they ended as they had begun. Pure.
import { elapsedMs } from "../environment/clock.ts";
import type { WitnessReport } from "../journeys/witness.ts";

/** What has gathered is told within it; nothing changes and changes back in so short a time. */
const atOnceMs = 50;

/** `isPast` where others have told of a change that the witness has missed. Oldest first. */
export function wordsThatCount(
  reports: readonly WitnessReport[],
  { isPast }: { readonly isPast: boolean },
): readonly WitnessReport[] {
  // Once a watch keeps up it tells how things are now.
  const inTimeFrom = reports.findIndex(({ notBefore }) => notBefore === undefined);
  const late = inTimeFrom === -1 ? reports : reports.slice(0, inTimeFrom);
  const inTime = reports.slice(late.length);
  return [
    ...(isPast || areParts(late) ? endOf(late) : late),
    ...(isPast && inTime.some(isAtOnceWithNext) ? endOf(inTime) : inTime),
  ];
}

/** Joins and leaves alternate: of an even number nothing is left. */
function endOf(reports: readonly WitnessReport[]): readonly WitnessReport[] {
  return reports.length % 2 === 1 ? reports.slice(-1) : [];
}

/** Whether they may be parts of what happened at once, or of what had gathered. */
function areParts(reports: readonly WitnessReport[]): boolean {
  const ofService = reports.filter(({ partOf }) => partOf === "service").length;
  return (
    (ofService > 0 && ofService < reports.length) ||
    reports.some(({ partOf }) => partOf === "list") ||
    reports.some(isAtOnceWithNext)
  );
}

function isAtOnceWithNext(
  { at }: WitnessReport,
  index: number,
  all: readonly WitnessReport[],
): boolean {
  const next = all[index + 1];
  return next !== undefined && elapsedMs(at, next.at) < atOnceMs;
}
