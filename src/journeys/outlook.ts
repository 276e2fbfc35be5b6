// What is still to come of a journey: the hops at which it is waited for, and when it has to be
// looked at again if nothing is heard of it until then.
import { abandonAfterMs, type HopBudgets } from "./journey-limits.ts";
import type { OpenJourney } from "./open-journey.ts";
import type { Hop, Witness } from "./witness.ts";

export interface Outlook {
  /** Each once; without `traffic`, for which nothing is late. */
  readonly waitingAt: readonly Hop[];
  readonly waitsForRequests: boolean;
  /** When it settles, is stuck or is abandoned, whichever comes first. */
  readonly dueAt: number;
}

export function outlookOf(
  journey: OpenJourney,
  followers: readonly Witness[],
  budgetMs: HopBudgets,
): Outlook {
  const waitingAt: Hop[] = [];
  let dueAt = journey.originAt + abandonAfterMs;
  let waitsForRequests = false;
  for (const witness of followers) {
    const { hop } = witness;
    if (!isAwaited(journey, witness)) continue;
    if (hop === "traffic") {
      waitsForRequests = true;
      continue;
    }
    if (!waitingAt.includes(hop)) waitingAt.push(hop);
    dueAt = Math.min(dueAt, journey.track.settlesAt(witness, journey) ?? dueAt);
    if (!journey.isStuckAt(witness)) dueAt = Math.min(dueAt, journey.originAt + budgetMs[hop]);
  }
  return { waitingAt, waitsForRequests, dueAt };
}

/** Neither has it shown the change, nor has it gone on to a later one. */
export function isAwaited(journey: OpenJourney, witness: Witness): boolean {
  return !journey.isMarkedBy(witness) && !journey.track.changes.isPassedBy(witness, journey);
}
