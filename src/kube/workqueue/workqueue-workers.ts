// Workers on a queue: take a key, work on it, and let it rest, or try it again later. One key that
// fails delays no other, and is given up after a bounded number of tries: the next event or resync
// brings it back.
import { setMaxListeners } from "node:events";
import type { Log } from "../../environment/log.ts";
import { StatusError } from "../client/client.ts";
import type { Workqueue } from "./workqueue.ts";

/** Throws to have the key tried again. */
export type Sync = (key: string, signal: AbortSignal) => Promise<void>;

export interface WorkersOptions {
  readonly queue: Workqueue;
  readonly workers: number;
  readonly sync: Sync;
  /**
   * Awaited before a key is taken, by one worker at a time: the next begins when the work on that key
   * waits for something. Keys that come meanwhile can so be ahead of those that are queued.
   */
  readonly beforeTake?: (signal: AbortSignal) => Promise<void>;
  /** Retries of one key before it is dropped; Kubernetes' endpoint controllers allow 15. */
  readonly maxRetries: number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Resolves when every worker has ended: after an abort each finishes the key in hand, after
 * `queue.shutDown()` what is queued is finished too.
 */
export async function runWorkers(options: WorkersOptions): Promise<void> {
  // Each worker that waits listens to the signal; that is not a leak to warn of.
  setMaxListeners(0, options.signal);
  const turns = options.beforeTake === undefined ? undefined : new Turns();
  await Promise.all(Array.from({ length: options.workers }, () => work(options, turns)));
}

async function work(options: WorkersOptions, turns: Turns | undefined): Promise<void> {
  for (;;) {
    const begun = await (turns === undefined ? begin(options) : turns.inTurn(() => begin(options)));
    if (begun === undefined) return;
    await begun.working;
  }
}

/** One after the other. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work, work);
    this.#last = result;
    return await result;
  }
}

/** Takes a key and begins the work on it; undefined when there is none any more. */
async function begin(
  options: WorkersOptions,
): Promise<{ readonly working: Promise<void> } | undefined> {
  const { queue, signal } = options;
  const key = await nextKey(options);
  if (key === undefined) return undefined;
  if (!signal.aborted) return { working: workOn(key, options) };
  // The key was handed over just before the abort; the queue may outlive these workers.
  queue.add(key);
  queue.done(key);
  return undefined;
}

async function nextKey({ queue, signal, beforeTake }: WorkersOptions): Promise<string | undefined> {
  try {
    if (beforeTake !== undefined) await beforeTake(signal);
    return await queue.get(signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function workOn(key: string, options: WorkersOptions): Promise<void> {
  const { queue, sync, signal } = options;
  try {
    await sync(key, signal);
    queue.forget(key);
  } catch (error) {
    retryOrDrop(key, error, options);
  } finally {
    queue.done(key);
  }
}

function retryOrDrop(key: string, error: unknown, options: WorkersOptions): void {
  const { queue, maxRetries, log } = options;
  const retries = queue.numRequeues(key);
  if (retries < maxRetries) {
    const fields = { queue: queue.name, key, retries, error };
    // A person can help at once with what no number of tries will mend.
    if (retries === 0 && isNotPermitted(error)) {
      log.warn("no permission for the work on a key; will retry", fields);
    } else {
      log.debug("work on a key failed; will retry", fields);
    }
    queue.addRateLimited(key);
    return;
  }
  log.warn("work on a key keeps failing; no retry until its next event", {
    queue: queue.name,
    key,
    retries,
    error,
  });
  queue.forget(key);
}

/** Creation also fails in a namespace that is being deleted, but that needs no attention. */
export function isNotPermitted(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    error.code === 403 &&
    !error.causes.includes("NamespaceTerminating")
  );
}
