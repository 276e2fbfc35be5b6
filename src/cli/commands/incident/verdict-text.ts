// The result of a run in two sentences: whether the compared numbers match their reference and whether
// Lockstep met its goals, and by name what did not. Pure.
import { isCompared, isWithinBounds } from "../../../lab/incidents/figure.ts";
import type { IncidentResult } from "../../../lab/incidents/incident.ts";

/** `Simulation matches the reference in 10 of 10 numbers. Lockstep met 3 of 3 goals.` */
export function verdictText(result: IncidentResult): string | undefined {
  const parts = [figuresText(result), goalsText(result)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.map((part) => `${part}.`).join(" ");
}

/** `10 of 10`: those that are compared, and how many are within their bounds. */
function figureCount({ figures }: Pick<IncidentResult, "figures">): string | undefined {
  const compared = figures.filter(isCompared);
  return countText(compared.length, compared.filter(isWithinBounds).length);
}

function goalCount({ measures }: Pick<IncidentResult, "measures">): string | undefined {
  const wanted = measures.filter(({ goal }) => goal !== undefined);
  return countText(wanted.length, wanted.filter(({ held }) => held).length);
}

function figuresText(result: IncidentResult): string | undefined {
  const count = figureCount(result);
  const wrong = result.figures.filter((figure) => !isWithinBounds(figure));
  return count && `Simulation matches the reference in ${count} numbers${namesOf(wrong)}`;
}

function goalsText(result: IncidentResult): string | undefined {
  const count = goalCount(result);
  const missed = result.measures.filter(({ held }) => !held);
  return count && `Lockstep met ${count} goals${namesOf(missed)}`;
}

function countText(all: number, good: number): string | undefined {
  return all === 0 ? undefined : `${good} of ${all}`;
}

function namesOf(those: readonly { readonly text: string }[]): string {
  return those.length === 0 ? "" : ` (failed: ${those.map(({ text }) => text).join(", ")})`;
}
