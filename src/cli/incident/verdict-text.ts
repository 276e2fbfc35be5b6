// What came of a run in one sentence: whether the figures are those seen elsewhere and whether
// Lockstep reached its goals, and by name what is not so. Pure.
import type { IncidentResult } from "../../lab/incidents/incident.ts";
import { isInside } from "./comparison.ts";

/** `10 of 10 figures are as seen elsewhere; Lockstep reached 3 of 3 goals.` */
export function verdictText(result: IncidentResult): string | undefined {
  const parts = [figuresText(result), goalsText(result)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `${parts.join("; ")}.`;
}

/** `10 of 10`: those that have something to be compared with, and how many are as it says. */
export function figureCount({ figures }: Pick<IncidentResult, "figures">): string | undefined {
  const compared = figures.filter(isCompared);
  return countText(compared.length, compared.filter(isInside).length);
}

export function goalCount({ measures }: Pick<IncidentResult, "measures">): string | undefined {
  const wanted = measures.filter(({ goal }) => goal !== undefined);
  return countText(wanted.length, wanted.filter(({ held }) => held).length);
}

function figuresText(result: IncidentResult): string | undefined {
  const count = figureCount(result);
  const wrong = result.figures.filter((figure) => !isInside(figure));
  return count && `${count} figures are as seen elsewhere${namesOf(wrong)}`;
}

function goalsText(result: IncidentResult): string | undefined {
  const count = goalCount(result);
  const missed = result.measures.filter(({ held }) => !held);
  return count && `Lockstep reached ${count} goals${namesOf(missed)}`;
}

function isCompared({ expected }: IncidentResult["figures"][number]): boolean {
  return expected.some(({ from, to }) => from !== undefined || to !== undefined);
}

function countText(all: number, good: number): string | undefined {
  return all === 0 ? undefined : `${good} of ${all}`;
}

function namesOf(those: readonly { readonly text: string }[]): string {
  return those.length === 0 ? "" : `, not: ${those.map(({ text }) => text).join(", ")}`;
}
