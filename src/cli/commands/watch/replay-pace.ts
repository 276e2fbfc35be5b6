// The speed of a replay: a factor, as fast as possible, paused, or one change at a time. It decides
// when the next line is processed; the times in the recording stay unchanged.
import { type Clock, elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Timers } from "../../../environment/timers.ts";

export type ReplaySpeed = number | "max";

export interface ReplayPaceOptions {
  /** The clock of this machine. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly speed: ReplaySpeed;
  /** Up to this instant of the recording, as fast as possible. */
  readonly fromMs: number;
}

const slowest = 1 / 16;
const fastest = 4_096;

/** Timers are no more exact. */
const leastWaitMs = 1;

/** After this many lines, keys, frames and Ctrl-C get a turn. */
const linesAtOnce = 500;

export class ReplayPace {
  readonly #options: ReplayPaceOptions;
  #speed: ReplaySpeed;
  #isPaused = false;
  #isStepping = false;
  /** The time on this machine when the recording was at `t`. */
  #anchor: { readonly at: MonotonicMs; readonly t: number } | undefined;
  #t = -Infinity;
  #lines = 0;
  /** Ends the current wait. */
  #wake: () => void = () => undefined;

  constructor(options: ReplayPaceOptions) {
    this.#options = options;
    this.#speed = options.speed;
  }

  get isPaused(): boolean {
    return this.#isPaused && !this.#isStepping;
  }

  /** `paused`, `4×`. */
  get text(): string {
    if (this.isPaused) return "paused";
    return this.#speed === "max" ? "full speed" : `${this.#speed}×`;
  }

  /** The space key. */
  pause(): void {
    this.#isPaused = !this.#isPaused;
    this.#isStepping = false;
    this.#changed();
  }

  /** Continues to the next change and pauses there. */
  step(): void {
    this.#isPaused = true;
    this.#isStepping = true;
    this.#changed();
  }

  /** A change was shown, so the step is over. */
  shown(): void {
    this.#isStepping = false;
  }

  faster(): void {
    this.#speed = this.#speed === "max" ? "max" : Math.min(fastest, this.#speed * 2);
    this.#changed();
  }

  slower(): void {
    this.#speed = this.#speed === "max" ? fastest : Math.max(slowest, this.#speed / 2);
    this.#changed();
  }

  /** Resolves when a line of this instant may be processed; rejects when the signal aborts. */
  async reach(t: number, signal: AbortSignal): Promise<void> {
    this.#lines += 1;
    if (this.#lines % linesAtOnce === 0) await this.#options.timers.breathe();
    signal.throwIfAborted();
    for (let waitMs = this.#waitMs(t); waitMs > 0; waitMs = this.#waitMs(t)) {
      await this.#wait(waitMs, signal);
    }
    this.#t = t;
  }

  /** Infinite while paused. */
  #waitMs(t: number): number {
    if (t <= this.#t || t < this.#options.fromMs || this.#isStepping) return 0;
    if (this.#isPaused) return Infinity;
    if (this.#speed === "max") return 0;
    const now = this.#options.clock.monotonicMs();
    this.#anchor ??= { at: now, t: Math.max(this.#t, this.#options.fromMs) };
    // Nothing to wait for before the first line.
    if (this.#anchor.t === -Infinity) this.#anchor = { at: now, t };
    const waitMs = (t - this.#anchor.t) / this.#speed - elapsedMs(this.#anchor.at, now);
    return waitMs < leastWaitMs ? 0 : waitMs;
  }

  #changed(): void {
    this.#anchor = undefined;
    this.#wake();
  }

  #wait(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel =
        waitMs === Infinity ? () => undefined : this.#options.timers.after(waitMs, () => end());
      const aborted = (): void => end(signal.reason);
      const end = (reason?: unknown): void => {
        cancel();
        signal.removeEventListener("abort", aborted);
        this.#wake = () => undefined;
        if (signal.aborted) reject(reason);
        else resolve();
      };
      signal.addEventListener("abort", aborted, { once: true });
      this.#wake = () => end();
      if (signal.aborted) aborted();
    });
  }
}
