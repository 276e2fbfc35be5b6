// Retries the first steps of a server on a storage that does not answer yet, or is slow because all
// servers start at once. Each retry is logged. A step must be one that can be repeated.
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Timers } from "../../environment/timers.ts";
import { StorageTimeoutError, StorageUnavailableError } from "./storage.ts";

export interface StorageRetryOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Ends the waiting, with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Less than the minute that the lab gives a server, so that the error of the server is shown. */
const patienceMs = 45_000;

/** A refused write has failed at once; one that timed out has waited already. */
const pauseMs = 500;

/** Rejects as the step does when that has nothing to do with the storage. */
export async function retryUntilStorageReady(
  { clock, timers, log, signal }: StorageRetryOptions,
  step: () => Promise<void>,
): Promise<void> {
  const beganAt = clock.monotonicMs();
  for (;;) {
    try {
      return await step();
    } catch (error) {
      const isSilent =
        error instanceof StorageUnavailableError || error instanceof StorageTimeoutError;
      if (!isSilent) throw error;
      signal?.throwIfAborted();
      const waitedMs = elapsedMs(beganAt, clock.monotonicMs());
      if (waitedMs >= patienceMs) throw outOfPatience(error);
      log.warn("the storage does not answer; the server waits for it", { error: error.message });
    }
    await timers.sleep(pauseMs, signal);
  }
}

function outOfPatience(cause: Error): StorageUnavailableError {
  const message =
    `the storage did not answer within ${patienceMs / 1000} s (${cause.message}): ` +
    "see that etcd runs and that its disk is not busy";
  return new StorageUnavailableError(message, { cause });
}
