// The time of a recording: the clock stands where its last line was taken in, and timers fire when the
// recording passes them.
import type { Clock, MonotonicMs, WallMs } from "../environment/clock.ts";
import { type Due, DueQueue } from "../environment/due-queue.ts";
import type { CancelTimer, Timers } from "../environment/timers.ts";

/** The clocks of the machine that recorded were set, where they moved by more against each other. */
const stepMs = 1_000;

interface Alarm extends Due {
  readonly callback: () => void;
  /** When it was set. */
  readonly setAt: number;
}

export interface Passing {
  /** The wall clock at its end. */
  readonly atMs?: number | undefined;
  /** Timers that were set before this instant and are due at the end of it are done too. */
  readonly setBefore?: number;
}

export class ReplayClock implements Clock, Timers {
  readonly #alarms = new DueQueue<Alarm>();
  #now: number;
  /** Wall time at instant 0. */
  #wallMs: number;

  constructor({ monotonicMs, wallMs }: { readonly monotonicMs: number; readonly wallMs: number }) {
    this.#now = monotonicMs;
    this.#wallMs = wallMs - monotonicMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#now as MonotonicMs;
  }

  wallMs(): WallMs {
    return (this.#wallMs + this.#now) as WallMs;
  }

  /** Time passes, and what is due before the instant is done first. It never goes back. */
  pass(to: number, { atMs, setBefore = -Infinity }: Passing = {}): void {
    for (;;) {
      const { first } = this.#alarms;
      if (first === undefined || first.dueAt > to) break;
      if (first.dueAt === to && first.setAt >= setBefore) break;
      this.#alarms.delete(first);
      this.#now = Math.max(this.#now, first.dueAt);
      first.callback();
    }
    this.#now = Math.max(this.#now, to);
    if (atMs === undefined) return;
    if (Math.abs(atMs - this.#now - this.#wallMs) >= stepMs) this.#wallMs = atMs - this.#now;
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const alarm: Alarm = { callback, setAt: this.#now, dueAt: 0, place: -1 };
    this.#alarms.set(alarm, this.#now + Math.max(0, delayMs));
    return () => this.#alarms.delete(alarm);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.after(delayMs, resolve);
      signal?.addEventListener("abort", () => {
        cancel();
        reject(signal.reason);
      });
    });
  }

  breathe(): Promise<void> {
    return Promise.resolve();
  }
}
