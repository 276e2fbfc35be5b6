// What came of a run in one sentence: whether the compared figures are within their bounds and whether
// Lockstep reached its goals, and by name what is not so. Pure.
import { isCompared, isWithinBounds } from "../../lab/incidents/figure.ts";
import type { IncidentResult } from "../../lab/incidents/incident.ts";

/** `10 of 10 compared figures are within their bounds; Lockstep reached 3 of 3 goals.` */
export function verdictText(result: IncidentResult): string | undefined {
  const parts = [figuresText(result), goalsText(result)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `${parts.join("; ")}.`;
}

/** `10 of 10`: those that are compared, and how many are within their bounds. */
export function figureCount({ figures }: Pick<IncidentResult, "figures">): string | undefined {
  const compared = figures.filter(isCompared);
  return countText(compared.length, compared.filter(isWithinBounds).length);
}

export function goalCount({ measures }: Pick<IncidentResult, "measures">): string | undefined {
  const wanted = measures.filter(({ goal }) => goal !== undefined);
  return countText(wanted.length, wanted.filter(({ held }) => held).length);
}

function figuresText(result: IncidentResult): string | undefined {
  const count = figureCount(result);
  const wrong = result.figures.filter((figure) => !isWithinBounds(figure));
  return count && `${count} compared figures are within their bounds${namesOf(wrong)}`;
}

function goalsText(result: IncidentResult): string | undefined {
  const count = goalCount(result);
  const missed = result.measures.filter(({ held }) => !held);
  return count && `Lockstep reached ${count} goals${namesOf(missed)}`;
}

function countText(all: number, good: number): string | undefined {
  return all === 0 ? undefined : `${good} of ${all}`;
}

function namesOf(those: readonly { readonly text: string }[]): string {
  return those.length === 0 ? "" : `, not: ${those.map(({ text }) => text).join(", ")}`;
}
