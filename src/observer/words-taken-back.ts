// Which of the words of one witness on one endpoint are nothing by themselves: a list tells object by
// object, and of a service and its pods two watches tell, so what one word says the next may take
// back, and together they only say how it ended. Pure.
import { elapsedMs } from "../environment/clock.ts";
import type { WitnessReport } from "../journeys/witness.ts";

/** What has gathered is told within it; nothing changes and changes back in so short a time. */
export const atOnceMs = 50;

/** Of words that were held back and show nothing that is known, oldest first. */
export function wordsTakenBack(reports: readonly WitnessReport[]): readonly WitnessReport[] {
  // Once a watch keeps up it tells how things are now.
  const inTimeFrom = reports.findIndex(({ notBefore }) => notBefore === undefined);
  const late = inTimeFrom === -1 ? reports : reports.slice(0, inTimeFrom);
  const left: WitnessReport[] = [];
  for (const report of late) {
    const before = left.at(-1);
    // Joins and leaves alternate, so each word says the opposite of the one before.
    if (before !== undefined && takesBack(report, before)) left.pop();
    else left.push(report);
  }
  return late.filter((report) => !left.includes(report));
}

/** One watch tells one after the other what happened so, unless it tells all at once. */
function takesBack(report: WitnessReport, before: WitnessReport): boolean {
  if (report.partOf === undefined && before.partOf === undefined) return false;
  if (report.partOf === "list" || before.partOf === "list") return true;
  return report.partOf !== before.partOf || elapsedMs(before.at, report.at) < atOnceMs;
}
