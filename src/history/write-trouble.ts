// Whether the history can be written at present: says when that changes, and when to try again.
import { type Clock, type MonotonicMs, monotonicAfter } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";

/** How long after a refusal it is tried again: a disk that is full stays so for a while. */
const retryFirstMs = 250;
const retryMaxMs = 10_000;

export interface WriteTroubleOptions {
  readonly clock: Clock;
  readonly log: Log;
}

export class WriteTrouble {
  readonly #options: WriteTroubleOptions;
  #reason: string | undefined;
  #delayMs = retryFirstMs;
  #retryAt: MonotonicMs | undefined;
  /** Nothing can be written any more. */
  #isFinal = false;

  constructor(options: WriteTroubleOptions) {
    this.#options = options;
  }

  /** Undefined when all is well. */
  get reason(): string | undefined {
    return this.#reason;
  }

  get retryAt(): MonotonicMs | undefined {
    return this.#retryAt;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  refused(reason: string): void {
    const { clock, log } = this.#options;
    if (reason !== this.#reason) log.warn("changes are waiting to be saved", { reason });
    this.#reason = reason;
    this.#retryAt = monotonicAfter(clock.monotonicMs(), this.#delayMs);
    this.#delayMs = Math.min(2 * this.#delayMs, retryMaxMs);
  }

  broken(reason: string): void {
    this.#isFinal = true;
    this.#reason = reason;
    this.#options.log.error("changes are not saved any more", { reason });
  }

  /** Logs that writing works again, with the number of dropped journeys since the start. */
  over(dropped: number): void {
    if (this.#reason === undefined) return;
    this.#options.log.info("changes are saved again", { dropped });
    this.#reason = undefined;
    this.#retryAt = undefined;
    this.#delayMs = retryFirstMs;
  }
}
