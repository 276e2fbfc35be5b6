// The last change of each endpoint that anybody has shown, and who has, for as long as a
// watch that was cut off may come back and tell its past. Invariant: in the order in which they were
// last shown, so that the oldest are let go first.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { HopTime, Journey } from "../journeys/journey.ts";
import { endpointKey, type WitnessReport, witnessId } from "../journeys/witness.ts";

interface LastChange {
  readonly originAt: MonotonicMs;
  /** Who has shown it, by id. */
  readonly by: readonly string[];
  /** Who of them may have more of the past to tell. */
  readonly lateBy: readonly string[];
  readonly notedAt: MonotonicMs;
}

/** A watch is listed anew after a few minutes, and lists tell no past. */
const rememberedMs = 600_000;

/** At some 200 bytes each 10 MB. */
const rememberedMax = 50_000;

export class LastChanges {
  readonly #changes = new Map<string, LastChange>();

  /** Somebody has shown it. */
  note({ endpoint, origin, hops }: Journey, now: MonotonicMs): void {
    const key = endpointKey(endpoint);
    const known = this.#changes.get(key);
    // Of an earlier one something may be shown later.
    if (known !== undefined && known.originAt > origin.at) return;
    const shown = hops.filter(({ state }) => state.type === "shown");
    const by = shown.map(idOf);
    const lateBy = shown.filter(isLate).map(idOf);
    this.#changes.delete(key);
    this.#changes.set(key, { originAt: origin.at, by, lateBy, notedAt: now });
    this.#forgetOld(now);
  }

  /** Whether its witness may tell the past: it has not shown the last change, or has late. */
  isMissedBy({ witness, endpoint, at, notBefore }: WitnessReport): boolean {
    const last = this.#changes.get(endpointKey(endpoint));
    if (last === undefined || last.originAt > at) return false;
    const id = witnessId(witness);
    if (notBefore === undefined) return !last.by.includes(id);
    return last.originAt > notBefore && (!last.by.includes(id) || last.lateBy.includes(id));
  }

  #forgetOld(now: MonotonicMs): void {
    for (const [key, { notedAt }] of this.#changes) {
      if (elapsedMs(notedAt, now) <= rememberedMs && this.#changes.size <= rememberedMax) return;
      this.#changes.delete(key);
    }
  }
}

/** Who has made the origin by itself is not late for it. */
function isLate({ state }: HopTime): boolean {
  return state.type === "shown" && (state.range?.minMs ?? state.lagMs) !== state.lagMs;
}

function idOf({ hop, witness }: HopTime): string {
  return witnessId({ hop, name: witness });
}
