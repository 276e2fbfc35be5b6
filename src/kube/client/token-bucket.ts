// The client-side limit of client-go (golang.org/x/time/rate): a bucket that starts full, refills
// at `qps` and hands out tokens in the order they were asked for, each with the time it may be
// used. Tokens are time here: the whole state is the instant at which the bucket was, or will be,
// empty, so no rounding accumulates and N requests take exactly (N - burst) / qps.
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs, monotonicAfter } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";

export interface TokenBucketOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Tokens a second. */
  readonly qps: number;
  /** Tokens of a full bucket. */
  readonly burst: number;
}

export interface Reservation {
  /** How long to wait, from the time of reserving, before using the token. */
  readonly waitMs: number;
  /**
   * Gives the token back if it is the last one reserved. Otherwise the times of later reservations
   * are already set and the token is spent, as in x/time/rate.
   */
  cancel(): void;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #msPerToken: number;
  readonly #burst: number;
  /** The bucket held 0 tokens here; in the future when tokens are already promised to waiters. */
  #emptyAt: MonotonicMs;

  constructor(options: TokenBucketOptions) {
    if (!(options.qps > 0)) throw new RangeError(`qps must be positive, not ${options.qps}`);
    if (!(options.burst >= 1)) throw new RangeError(`burst must be 1 or more: ${options.burst}`);
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#msPerToken = 1000 / options.qps;
    this.#burst = options.burst;
    this.#emptyAt = monotonicAfter(options.clock.monotonicMs(), -this.#fullMs());
  }

  /** Tokens there now; negative when some are promised to waiters. */
  tokens(): number {
    const now = this.#clock.monotonicMs();
    return Math.min(this.#burst, elapsedMs(this.#emptyAt, now) / this.#msPerToken);
  }

  /** Takes a token if one is there now. */
  tryAccept(): boolean {
    return this.reserveWithin(0) !== undefined;
  }

  /** Promises the next token. */
  reserve(): Reservation {
    const now = this.#clock.monotonicMs();
    const before = this.#emptyAt;
    const after = this.#emptyAfterNext(now);
    this.#emptyAt = after;
    let cancelled = false;
    return {
      waitMs: Math.max(0, elapsedMs(now, after)),
      cancel: () => {
        if (cancelled) return;
        cancelled = true;
        const isAhead = after >= this.#clock.monotonicMs();
        if (isAhead && this.#emptyAt === after) this.#emptyAt = before;
      },
    };
  }

  /** Promises the next token unless the wait would be longer than this; then it takes none. */
  reserveWithin(maxWaitMs: number): Reservation | undefined {
    const now = this.#clock.monotonicMs();
    return elapsedMs(now, this.#emptyAfterNext(now)) > maxWaitMs ? undefined : this.reserve();
  }

  /** Resolves when a token is ours; an abort rejects with the signal's reason and returns it. */
  async wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.use(this.reserve(), signal);
  }

  /**
   * Resolves when the next token would be there, and takes none. Those who take one meanwhile do not
   * prolong the wait: otherwise others who always wait for a token would keep it up for ever.
   */
  async untilToken(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const missing = 1 - this.tokens();
    if (missing > 0) await this.#timers.sleep(Math.ceil(missing * this.#msPerToken), signal);
  }

  /** Waits for the time of a reservation just made; cancels it when the signal aborts first. */
  async use(reservation: Reservation, signal?: AbortSignal): Promise<void> {
    if (reservation.waitMs === 0) return;
    try {
      await this.#timers.sleep(reservation.waitMs, signal);
    } catch (error) {
      reservation.cancel();
      throw error;
    }
  }

  /** A bucket that has been left alone holds no more than `burst`. */
  #emptyAfterNext(now: MonotonicMs): MonotonicMs {
    const isFull = elapsedMs(this.#emptyAt, now) >= this.#fullMs();
    const emptyAt = isFull ? monotonicAfter(now, -this.#fullMs()) : this.#emptyAt;
    return monotonicAfter(emptyAt, this.#msPerToken);
  }

  #fullMs(): number {
    return this.#burst * this.#msPerToken;
  }
}
