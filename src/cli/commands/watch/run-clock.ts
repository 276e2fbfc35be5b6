// A run of the observer whose instants are told by the wall clock as it stands. Somebody sets the clock,
// or the machine sleeps, during which the monotonic clock of most systems stands still: without this a
// view that is left open would show times of yesterday, and keep journeys under them.
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

/** Both clocks are slewed alike; what is beyond their reading at different moments is a step. */
const stepMs = 1_000;

/** Invariant: both instants are one and the same, within a second of what the clocks say. */
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

  /** To be called before instants are told; between two calls they do not move. */
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
