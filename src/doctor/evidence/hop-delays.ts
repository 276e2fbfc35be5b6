// How much later than a published change one source of a later hop shows it: a proxy replica, or a copy
// in an access cluster. Only changes that were published count, so earlier hops have no part in it.
import { type HopState, lagsAt } from "../../timeline/journey.ts";
import type { Hop } from "../../timeline/witness.ts";
import type { JourneyEvidence } from "./evidence.ts";

export interface HopDelay {
  /** The source: a replica, a cluster. */
  readonly witness: string;
  /** Changes that it showed late, or not at all. */
  readonly late: number;
  readonly missing: number;
  readonly changes: number;
  readonly longestMs: number;
}

/** Those with the most late changes first. */
export function hopDelays(
  { journeys }: JourneyEvidence,
  hop: Hop,
  lateMs: number,
): readonly HopDelay[] {
  const byWitness = new Map<string, HopDelay>();
  for (const journey of journeys) {
    const published = lagsAt(journey, "published");
    if (published.length === 0) continue;
    for (const { hop: at, witness, state } of journey.hops) {
      if (at !== hop) continue;
      const delayMs = delayOf(state, published);
      const isMissing = state.type === "stuck";
      if (delayMs === undefined && !isMissing) continue;
      const none = { witness, late: 0, missing: 0, changes: 0, longestMs: 0 };
      const known = byWitness.get(witness) ?? none;
      byWitness.set(witness, {
        witness,
        changes: known.changes + 1,
        late: known.late + Number(isMissing || (delayMs ?? 0) >= lateMs),
        missing: known.missing + Number(isMissing),
        longestMs: Math.max(known.longestMs, delayMs ?? 0),
      });
    }
  }
  return [...byWitness.values()].sort((a, b) => b.late - a.late);
}

function delayOf(state: HopState, published: readonly number[]): number | undefined {
  return state.type === "shown" ? state.lagMs - Math.max(...published) : undefined;
}
