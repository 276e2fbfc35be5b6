// Endpoints that just refused a connection or let it time out: the twin of
// proxy/lua/lockstep/suspects.lua, with the same bounds. A mark ends by itself.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
} from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { uncountedSlot } from "./slot-table.ts";

export interface TwinSuspect {
  readonly slot: number;
  readonly ageMs: number;
}

/** As in proxy/lua/lockstep. */
const suspectMs = 10_000;
const trialMs = 2_000;
const forgottenMs = 60_000;
const mostListed = 1_000;
const mostWaitMs = 60_000;

export class TwinSuspects {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #markedAt = new Map<number, MonotonicMs>();
  readonly #waiting = new Set<() => void>();
  #changes = 0;

  constructor(options: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = options.clock;
    this.#timers = options.timers;
  }

  /** How often a mark was set or taken back. */
  get changes(): number {
    return this.#changes;
  }

  isSuspect(slot: number): boolean {
    return this.#ageMs(slot) !== undefined;
  }

  mark(slot: number): void {
    if (slot === uncountedSlot) return;
    this.#markedAt.set(slot, this.#clock.monotonicMs());
    this.#changed();
  }

  /** For every endpoint that gets a request: the first whose mark has ended marks it for a while. */
  try(slot: number): void {
    if (!this.#markedAt.has(slot) || this.isSuspect(slot)) return;
    this.#markedAt.set(slot, monotonicAfter(this.#clock.monotonicMs(), trialMs - suspectMs));
  }

  clear(slot: number): void {
    if (this.#markedAt.delete(slot)) this.#changed();
  }

  /** Slots mean other endpoints to another pusher. */
  clearAll(): void {
    this.#markedAt.clear();
    this.#changed();
  }

  /** Those that are marked now, by slot. */
  list(): readonly TwinSuspect[] {
    this.#takeBackForgotten();
    const listed = [...this.#markedAt.keys()].flatMap((slot) => {
      const ageMs = this.#ageMs(slot);
      return ageMs === undefined ? [] : [{ slot, ageMs: Math.floor(ageMs) }];
    });
    return listed.toSorted((one, other) => one.slot - other.slot).slice(0, mostListed);
  }

  /** Resolves when there is a change after the n-th, or nobody waits for it any longer. */
  async change(after: number, gone: AbortSignal): Promise<void> {
    if (this.#changes !== after || gone.aborted) return;
    await new Promise<void>((resolve) => {
      const longestMs = this.list().length > 0 ? suspectMs : mostWaitMs;
      const settle = (): void => {
        cancel();
        gone.removeEventListener("abort", settle);
        this.#waiting.delete(settle);
        resolve();
      };
      const cancel = this.#timers.after(longestMs, settle);
      gone.addEventListener("abort", settle, { once: true });
      this.#waiting.add(settle);
    });
  }

  #takeBackForgotten(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [slot, markedAt] of this.#markedAt)
      if (elapsedMs(markedAt, nowMs) > forgottenMs) this.#markedAt.delete(slot);
  }

  #ageMs(slot: number): number | undefined {
    const markedAt = this.#markedAt.get(slot);
    if (markedAt === undefined) return undefined;
    const ageMs = elapsedMs(markedAt, this.#clock.monotonicMs());
    return ageMs < suspectMs ? ageMs : undefined;
  }

  #changed(): void {
    this.#changes += 1;
    for (const settle of this.#waiting) settle();
  }
}
