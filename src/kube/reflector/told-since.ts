// Since when what a reflector delivers can have been so. What a watch shows that keeps up happened
// just now. What a list shows, or a watch that was cut off or is behind, happened at some time after
// the watch was last proved to be current. It must be asked while a change is delivered, and now and
// then besides, so that it knows the latest proof when the watch breaks.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Projected } from "../kinds/kind.ts";
import type { Change } from "../store/store-change.ts";
import type { Reflector } from "./reflector.ts";

/** What it asks of a reflector. */
export type ToldBy = Pick<Reflector<Projected>, "synced" | "state" | "freshness" | "readBefore">;

/** What it asks of a change. */
type Told = Pick<Change<Projected>, "learntBy" | "object">;

/** What has gathered while no watch was open is sent at once when one is: it is over by then. */
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

export class ToldSince {
  readonly #reflector: ToldBy;
  readonly #clock: Clock;
  /** Everything that was true then has been delivered. */
  #currentAt: MonotonicMs | undefined;

  constructor({ reflector, clock }: { readonly reflector: ToldBy; readonly clock: Clock }) {
    this.#reflector = reflector;
    this.#clock = clock;
  }

  /** All that was so then has been told. */
  get provedAt(): MonotonicMs | undefined {
    this.note();
    return this.#currentAt;
  }

  /** What happened since then may not have been told yet; undefined when it keeps up. */
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

  /** Whether no watch is open, or what has gathered meanwhile may still be on its way. */
  get isCutOff(): boolean {
    const { connectedSinceMs, currentAtMs } = this.#reflector.freshness();
    if (connectedSinceMs === undefined) return true;
    const hasCaughtUp = currentAtMs !== undefined && currentAtMs > connectedSinceMs;
    return !hasCaughtUp && elapsedMs(connectedSinceMs, this.#clock.monotonicMs()) < backlogMs;
  }

  /** Time passes without anybody telling: to be called now and then. */
  note(): void {
    // While a list is read its own instant is known already, and what it changes not delivered.
    if (!this.#reflector.synced || this.#reflector.state !== "watching") return;
    this.#currentAt = this.#reflector.freshness().currentAtMs;
  }

  /** The first list has been delivered; no watch may have been opened yet. */
  noteListed(): void {
    this.#currentAt ??= this.#reflector.freshness().currentAtMs;
  }

  /** Whether what is told now may have been so for a while. */
  isLate({ learntBy, object }: Told): boolean {
    this.note();
    return learntBy === "list" || this.#mayBeLate(object.metadata.resourceVersion);
  }

  /** It happened after this; undefined when it happened just now, or nothing is known. */
  notBefore(told: Told): MonotonicMs | undefined {
    return this.isLate(told) ? this.#currentAt : undefined;
  }

  #mayBeLate(resourceVersion: string): boolean {
    if (!this.#reflector.freshness().fresh || this.isCutOff) return true;
    const readAt = this.#reflector.readBefore(resourceVersion);
    return readAt !== undefined && elapsedMs(readAt, this.#clock.monotonicMs()) > overtakenMs;
  }
}
