// The wait after the n-th failure in a row, as in client-go's reflector, but with a maximum: after
// an apiserver is back, the reflector reconnects within half a minute.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
} from "../../environment/clock.ts";
import { jitter, type Random } from "../../environment/random.ts";

/** The shortest first wait: a restarted apiserver needs about a second to answer again. */
export const backoffBaseMs = 800;
/** The longest wait, jitter included. */
export const backoffMaxMs = 30_000;
/** Waits stretch by a factor in [1, 2), so that clients that failed together come back apart. */
const jitterFactor = 1;
/** This long without a failure ends the row. */
export const backoffResetAfterMs = 120_000;

export interface BackoffOptions {
  readonly clock: Clock;
  readonly random: Random;
}

export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #failures = 0;
  /** When the last wait that was handed out is over. */
  #waitEndsAt: MonotonicMs | undefined;

  constructor(options: BackoffOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Counts one more failure and says how long to wait now. */
  next(): number {
    const now = this.#clock.monotonicMs();
    if (this.#waitEndsAt !== undefined && elapsedMs(this.#waitEndsAt, now) >= backoffResetAfterMs) {
      this.#failures = 0;
    }
    const step = Math.min(backoffBaseMs * 2 ** this.#failures, backoffMaxMs / (1 + jitterFactor));
    const delayMs = jitter(this.#random, step, jitterFactor);
    this.#failures += 1;
    this.#waitEndsAt = monotonicAfter(now, delayMs);
    return delayMs;
  }

  /** Failures in the current row. */
  get failures(): number {
    return this.#failures;
  }
}
