// Since when what a reflector delivers can have been so. What a watch shows that keeps up happened
// just now. What a list shows, or a watch that was cut off or is behind, happened at some time after
// the watch was last proved to be current.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Projected } from "../kinds/kind.ts";
import type { Change } from "../store/store-change.ts";
import type { Reflector } from "./reflector.ts";

/** What it asks of a reflector. */
export type ToldBy = Pick<Reflector<Projected>, "synced" | "state" | "freshness" | "readBefore">;

/** What has gathered while no watch was open is sent at once when one is: it is over by then. */
const backlogMs = 2_000;

/** A quorum read and the event it knew of may overtake each other by as much. */
const overtakenMs = 1_000;

export class ToldSince {
  readonly #clock: Clock;
  /** Everything that was true then has been delivered. */
  #currentAt: MonotonicMs | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Time passes without anybody telling: to be called now and then. */
  note(reflector: ToldBy): void {
    // While a list is read its own instant is known already, and what it changes not delivered.
    if (!reflector.synced || reflector.state !== "watching") return;
    this.#currentAt = reflector.freshness().currentAtMs;
  }

  /** It happened after this; undefined when it happened just now, or nothing is known. */
  notBefore(
    reflector: ToldBy,
    { learntBy, object }: Pick<Change<Projected>, "learntBy" | "object">,
  ): MonotonicMs | undefined {
    this.note(reflector);
    const isLate = learntBy === "list" || this.#isBehind(reflector, object);
    return isLate ? this.#currentAt : undefined;
  }

  #isBehind(reflector: ToldBy, { metadata }: Projected): boolean {
    const now = this.#clock.monotonicMs();
    const { fresh, connectedSinceMs, currentAtMs } = reflector.freshness();
    if (!fresh || connectedSinceMs === undefined) return true;
    const hasCaughtUp = currentAtMs !== undefined && currentAtMs > connectedSinceMs;
    if (!hasCaughtUp && elapsedMs(connectedSinceMs, now) < backlogMs) return true;
    const readAt = reflector.readBefore(metadata.resourceVersion);
    return readAt !== undefined && elapsedMs(readAt, now) > overtakenMs;
  }
}
