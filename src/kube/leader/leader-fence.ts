// Keeps a replica that no longer leads from acting as the leader. Leadership is granted until an
// instant on our own monotonic clock; from that instant on nothing starts, whether or not a timer
// has fired yet, and what waits is aborted. Writes carry a resourceVersion besides: a request that
// is already on its way cannot be called back.

import { setMaxListeners } from "node:events";
import { assert } from "../../environment/assert.ts";
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { Network } from "../../environment/network.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export class NotLeadingError extends Error {
  override readonly name = "NotLeadingError";
  readonly code = "NOT_LEADING";
}

interface Leadership {
  readonly controller: AbortController;
  /** We lead strictly before this. */
  until: MonotonicMs;
  cancelTimer: CancelTimer;
}

export class LeaderFence {
  readonly #clock: Clock;
  readonly #timers: Timers;
  /** Undefined, or granted and not yet ended; it may be past its time with its timer still to fire. */
  #leadership: Leadership | undefined;
  /** Writes begun by `runIfLeading` that have not settled. */
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: { readonly clock: Clock; readonly timers: Timers }) {
    this.#clock = options.clock;
    this.#timers = options.timers;
  }

  isLeading(): boolean {
    return this.#leadership !== undefined && this.#clock.monotonicMs() < this.#leadership.until;
  }

  /** Begins a leadership; the signal aborts when it ends. */
  grant(until: MonotonicMs): AbortSignal {
    this.revoke("a new leadership begins");
    const controller = new AbortController();
    // Every write under way listens to it; that is not a leak to warn of.
    setMaxListeners(0, controller.signal);
    const leadership = { controller, until, cancelTimer: this.#endAt(until) };
    this.#leadership = leadership;
    return controller.signal;
  }

  /** Moves the end of a leadership that has not ended; false if it has. */
  extend(until: MonotonicMs): boolean {
    const leadership = this.#leadership;
    if (leadership === undefined || !this.isLeading()) return false;
    leadership.cancelTimer();
    leadership.until = until;
    leadership.cancelTimer = this.#endAt(until);
    return true;
  }

  /** Ends the leadership now. Idempotent. */
  revoke(why: string): void {
    const leadership = this.#leadership;
    if (leadership === undefined) return;
    this.#leadership = undefined;
    leadership.cancelTimer();
    leadership.controller.abort(new NotLeadingError(why));
  }

  /**
   * Starts a write that only the leader may make, or rejects with `NotLeadingError`. A write that
   * has to wait first must heed the signal.
   */
  async runIfLeading<Result>(write: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const leadership = this.#leadership;
    if (leadership === undefined || !this.isLeading()) {
      throw new NotLeadingError("this replica is not the leader");
    }
    assert(!leadership.controller.signal.aborted, "a leadership that has ended is forgotten");
    const running = write(leadership.controller.signal);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when every write that was begun has settled. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /**
   * A network that refuses to send anything but reads unless we lead. Below the client it is the
   * last place a write passes: neither a rate limiter nor credentials can delay it any more.
   */
  guard(network: Network): Network {
    return {
      listen: (options, handler) => network.listen(options, handler),
      request: async (request) => {
        if (request.method !== "GET" && !this.isLeading()) {
          throw new NotLeadingError(`not the leader: ${request.method} ${request.url} is not sent`);
        }
        return await network.request(request);
      },
    };
  }

  #endAt(until: MonotonicMs): CancelTimer {
    const delayMs = elapsedMs(this.#clock.monotonicMs(), until);
    return this.#timers.after(delayMs, () => this.revoke("the renew deadline has passed"));
  }
}
