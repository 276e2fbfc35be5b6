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

interface Mark {
  readonly at: MonotonicMs;
  /** The namespace of the service whose request did not reach the endpoint. */
  readonly owner: string;
}

/** As in proxy/lua/lockstep. */
const suspectMs = 10_000;
const trialMs = 2_000;
const forgottenMs = 60_000;
const mostListed = 2_000;
const mostWaitMs = 60_000;

export class TwinSuspects {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #marks = new Map<number, Mark>();
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

  mark(slot: number, owner: string): void {
    if (slot === uncountedSlot) return;
    this.#marks.set(slot, { at: this.#clock.monotonicMs(), owner });
    this.#changed();
  }

  /** For every endpoint that gets a request: the first whose mark has ended marks it for a while. */
  try(slot: number): void {
    const mark = this.#marks.get(slot);
    if (mark === undefined || this.isSuspect(slot)) return;
    const at = monotonicAfter(this.#clock.monotonicMs(), trialMs - suspectMs);
    this.#marks.set(slot, { ...mark, at });
  }

  /** A connection to the endpoint broke, so it can be reached: the next request tries it. */
  endTrial(slot: number): void {
    const ageMs = this.#ageMs(slot);
    const mark = this.#marks.get(slot);
    if (mark === undefined || ageMs === undefined || ageMs < suspectMs - trialMs) return;
    this.#marks.set(slot, { ...mark, at: monotonicAfter(this.#clock.monotonicMs(), -suspectMs) });
  }

  clear(slot: number): void {
    if (this.#marks.delete(slot)) this.#changed();
  }

  /** The endpoint answered a probe: the next request tries it. */
  endMark(slot: number): void {
    const mark = this.#marks.get(slot);
    if (mark === undefined || !this.isSuspect(slot)) return;
    this.#marks.set(slot, { ...mark, at: monotonicAfter(this.#clock.monotonicMs(), -suspectMs) });
    this.#changed();
  }

  /** Slots mean other endpoints to another pusher. */
  clearAll(): void {
    this.#marks.clear();
    this.#changed();
  }

  /** Those that are marked now, by slot; of a namespace as many as are left. */
  list(): readonly TwinSuspect[] {
    this.#takeBackForgotten();
    const listed: TwinSuspect[] = [];
    const counts = new Map<string, number>();
    for (const [slot, { owner }] of [...this.#marks].sort(([a], [b]) => a - b)) {
      const ageMs = this.#ageMs(slot);
      const count = counts.get(owner) ?? 0;
      if (ageMs === undefined || count >= mostListed - listed.length) continue;
      listed.push({ slot, ageMs: Math.floor(ageMs) });
      counts.set(owner, count + 1);
    }
    return listed;
  }

  /** Resolves when there is a change after the n-th, or the waiting request has ended. */
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
    for (const [slot, { at }] of this.#marks)
      if (elapsedMs(at, nowMs) > forgottenMs) this.#marks.delete(slot);
  }

  #ageMs(slot: number): number | undefined {
    const mark = this.#marks.get(slot);
    if (mark === undefined) return undefined;
    const ageMs = elapsedMs(mark.at, this.#clock.monotonicMs());
    return ageMs < suspectMs ? ageMs : undefined;
  }

  #changed(): void {
    this.#changes += 1;
    for (const settle of this.#waiting) settle();
  }
}
