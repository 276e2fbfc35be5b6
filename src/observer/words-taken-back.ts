// Which of the words of one witness on one endpoint are nothing by themselves: a list tells object by
// object, and of a service and its pods two watches tell, so what one word says the next may take
// back, and together they only say how it ended. Pure.
import type { WitnessReport } from "../journeys/witness.ts";

/** Of words that were held back and show nothing that is known, oldest first. */
export function wordsTakenBack(reports: readonly WitnessReport[]): readonly WitnessReport[] {
  // Once a watch keeps up it tells how things are now.
  const inTimeFrom = reports.findIndex(({ notBefore }) => notBefore === undefined);
  const late = inTimeFrom === -1 ? reports : reports.slice(0, inTimeFrom);
  if (late.every(({ partOf }) => partOf === undefined)) return [];
  // Joins and leaves alternate: of an even number nothing is left.
  return late.length % 2 === 1 ? late.slice(0, -1) : late;
}
