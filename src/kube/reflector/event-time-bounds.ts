// Bounds for the time of each event that a reflector delivers. An event of a watch that keeps up
// happened just now. An event from a list, or from a watch that was cut off or is behind, happened
// after the last proof that the watch was current. Call it while a change is delivered, and
// regularly, so that it knows the latest proof when the watch breaks.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Projected } from "../kinds/kind.ts";
import type { Change } from "../store/store-change.ts";
import type { Reflector } from "./reflector.ts";

/** The part of a reflector that is used here. */
export type EventSource = Pick<
  Reflector<Projected>,
  "synced" | "state" | "freshness" | "readBefore"
>;

/** The part of a change that is used here. */
type ReportedChange = Pick<Change<Projected>, "learntBy" | "object">;

/** Events that gathered while no watch was open arrive within this time after it opens. */
const backlogMs = 2_000;

/**
 * A watch that is open and fresh is live. Of any other one counts when it was last proved current, if
 * it ever was.
 */
export type Currency = "live" | MonotonicMs | undefined;

/** The watermark: all that was so then has been reported. Events of a live watch may be under way. */
export function currentAt(currency: Currency, now: MonotonicMs): MonotonicMs {
  if (currency === "live") return (now - overtakenMs) as MonotonicMs;
  return currency ?? (-Infinity as MonotonicMs);
}

/** A quorum read and the event it knew of may overtake each other by as much. */
const overtakenMs = 1_000;

export class EventTimeBounds {
  readonly #reflector: EventSource;
  readonly #clock: Clock;
  /** Everything that was true then has been delivered. */
  #currentAt: MonotonicMs | undefined;

  constructor({ reflector, clock }: { readonly reflector: EventSource; readonly clock: Clock }) {
    this.#reflector = reflector;
    this.#clock = clock;
  }

  /** Every event up to this time has been delivered. */
  get provedAt(): MonotonicMs | undefined {
    this.note();
    return this.#currentAt;
  }

  /** Events after this time may be missing; undefined while the watch keeps up. */
  get behindSince(): MonotonicMs | undefined {
    this.note();
    const { resourceVersion } = this.#reflector.freshness();
    const isBehind = resourceVersion === undefined || this.#mayBeLate(resourceVersion);
    return isBehind ? this.#currentAt : undefined;
  }

  /** How current the watch is: see `currentAt`. */
  get currency(): Currency {
    this.note();
    if (this.#reflector.freshness().fresh && !this.isCutOff) return "live";
    return this.#currentAt;
  }

  /** Whether no watch is open, or its backlog may still be arriving. */
  get isCutOff(): boolean {
    const { connectedSinceMs, currentAtMs } = this.#reflector.freshness();
    if (connectedSinceMs === undefined) return true;
    const hasCaughtUp = currentAtMs !== undefined && currentAtMs > connectedSinceMs;
    return !hasCaughtUp && elapsedMs(connectedSinceMs, this.#clock.monotonicMs()) < backlogMs;
  }

  /** Takes the latest proof; call it regularly, because no event announces one. */
  note(): void {
    // While a list is read its own instant is known already, and what it changes not delivered.
    if (!this.#reflector.synced || this.#reflector.state !== "watching") return;
    this.#currentAt = this.#reflector.freshness().currentAtMs;
  }

  /** The first list has been delivered; no watch may have been opened yet. */
  noteListed(): void {
    this.#currentAt ??= this.#reflector.freshness().currentAtMs;
  }

  /** Whether a change delivered now may have happened a while ago. */
  isLate({ learntBy, object }: ReportedChange): boolean {
    this.note();
    return learntBy === "list" || this.#mayBeLate(object.metadata.resourceVersion);
  }

  /** It happened after this; undefined when it happened just now, or nothing is known. */
  notBefore(change: ReportedChange): MonotonicMs | undefined {
    return this.isLate(change) ? this.#currentAt : undefined;
  }

  #mayBeLate(resourceVersion: string): boolean {
    if (!this.#reflector.freshness().fresh || this.isCutOff) return true;
    const readAt = this.#reflector.readBefore(resourceVersion);
    return readAt !== undefined && elapsedMs(readAt, this.#clock.monotonicMs()) > overtakenMs;
  }
}
