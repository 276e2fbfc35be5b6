// Converts times of an observer run to the current wall clock. If the clock is set or the machine
// is suspended, later times use the new clock; otherwise a view that stays open would show wrong
// times.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  type WallMs,
} from "../../../environment/clock.ts";
import type { Log } from "../../../environment/log.ts";
import type { ObserverRun } from "../../../timeline/journey-record.ts";

export interface RunClockOptions {
  readonly run: ObserverRun;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
}

/** Both clocks are slewed alike, so a larger difference is a step. */
const stepMs = 1_000;

/** Invariant: both fields are the same instant, within a second of the clocks. */
export class RunClock implements ObserverRun {
  readonly name: string;
  readonly #options: RunClockOptions;
  #wallMs: WallMs;
  #monotonicMs: MonotonicMs;

  constructor(options: RunClockOptions) {
    this.#options = options;
    const { name, wallMs, monotonicMs } = options.run;
    this.name = name;
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
  }

  get wallMs(): WallMs {
    return this.#wallMs;
  }

  get monotonicMs(): MonotonicMs {
    return this.#monotonicMs;
  }

  /** Call before converting times; they do not change between two calls. */
  follow(): void {
    const { clock, log } = this.#options;
    const [wallMs, monotonicMs] = [clock.wallMs(), clock.monotonicMs()];
    const byMs = wallMs - this.#wallMs - elapsedMs(this.#monotonicMs, monotonicMs);
    if (Math.abs(byMs) < stepMs) return;
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    log.warn(
      "the system clock changed, or the machine was suspended; later times use the new clock",
      {
        byMs: Math.round(byMs),
      },
    );
  }
}
