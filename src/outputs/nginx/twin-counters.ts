// Counters of each endpoint: the twin of proxy/lua/lockstep/counters.lua.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { SlotCounters } from "./control-client.ts";
import { uncountedSlot } from "./slot-table.ts";

interface Counted {
  requests: number;
  failures: number;
  lastUsedAt: MonotonicMs;
}

export class TwinCounters {
  readonly #clock: Clock;
  readonly #counted = new Map<number, Counted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of the clock that `read` goes by. */
  get nowMs(): number {
    return Math.floor(this.#clock.monotonicMs());
  }

  countRequest(slot: number): void {
    this.#of(slot).requests += 1;
  }

  countFailure(slot: number): void {
    this.#of(slot).failures += 1;
  }

  /** Slots mean other endpoints to another pusher. */
  clearAll(): void {
    this.#counted.clear();
  }

  /** Of the slots used since then, by this clock. */
  read(sinceMs: number, isSuspect: (slot: number) => boolean): readonly SlotCounters[] {
    const now = this.#clock.monotonicMs();
    return [...this.#counted]
      .filter(([slot, { lastUsedAt }]) => slot !== uncountedSlot && lastUsedAt >= sinceMs)
      .map(([slot, { requests, failures, lastUsedAt }]) => {
        const lastUsedMsAgo = Math.floor(elapsedMs(lastUsedAt, now));
        return { slot, requests, failures, lastUsedMsAgo, suspect: isSuspect(slot) };
      })
      .sort((one, other) => one.slot - other.slot);
  }

  #of(slot: number): Counted {
    const lastUsedAt = this.#clock.monotonicMs();
    const known = this.#counted.get(slot) ?? { requests: 0, failures: 0, lastUsedAt };
    known.lastUsedAt = lastUsedAt;
    this.#counted.set(slot, known);
    return known;
  }
}
