// A deadline and a caller's signal as one signal. Nothing is left behind: once released, there is no
// timer and no listener on the caller's signal, which may live as long as the program.
import type { Timers } from "../../environment/timers.ts";
import { DeadlineExceededError } from "./client.ts";

export interface DeadlineOptions {
  readonly timers: Timers;
  /** No deadline when absent. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The action in the error's message: `GET /api/v1/pods`. */
  readonly what: string;
}

/**
 * Aborts with the caller's reason, or with a `DeadlineExceededError`, whichever comes first.
 * Invariant: `release` has been called once the work is over, however it ended.
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #onCallerAbort: () => void;
  #cancelTimer: () => void;

  constructor({ timers, deadlineMs, signal, what }: DeadlineOptions) {
    const controller = new AbortController();
    this.signal = controller.signal;
    this.#callerSignal = signal;
    this.#onCallerAbort = () => {
      this.met();
      controller.abort(signal?.reason);
    };
    this.#cancelTimer = () => undefined;
    if (signal?.aborted) {
      controller.abort(signal.reason);
      return;
    }
    signal?.addEventListener("abort", this.#onCallerAbort, { once: true });
    if (deadlineMs === undefined) return;
    this.#cancelTimer = timers.after(deadlineMs, () => {
      this.release();
      controller.abort(new DeadlineExceededError(`${what}: no answer within ${deadlineMs} ms`));
    });
  }

  /** The time no longer counts; the caller's signal still does. */
  met(): void {
    this.#cancelTimer();
  }

  /** Neither counts any more. Idempotent. */
  release(): void {
    this.met();
    this.#callerSignal?.removeEventListener("abort", this.#onCallerAbort);
  }
}

/** Waits for the promise, but no longer than the signal allows; the promise itself goes on. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => undefined);
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
