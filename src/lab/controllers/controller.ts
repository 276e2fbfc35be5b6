// What every controller has: the shared watches, a client of its own, a queue of keys and workers.
// A controller registers its handlers in the same turn in which it is called, before anything is
// started, and works once all watches are complete.
import type { Registry } from "prom-client";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { RateLimiter } from "../../kube/workqueue/rate-limiter.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers, type Sync } from "../../kube/workqueue/workqueue-workers.ts";
import type { ControllerFlags } from "./flags.ts";
import type { Informers } from "./informers.ts";
import { type Klog, structured } from "./klog/klog.ts";
import type { Profile } from "./profiles.ts";

export interface ControllerOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly flags: ControllerFlags;
  readonly profile: Profile;
  readonly klog: Klog;
  readonly registry: Registry;
}

export interface ControllerLoop {
  readonly queue: Workqueue;
  readonly workers: number;
  readonly sync: Sync;
  readonly maxRetries?: number;
  /** After the watches are complete and before the first key. */
  readonly onSynced?: () => Promise<void> | void;
  /** `endpoints-controller`, in log lines. */
  readonly name: string;
  readonly failure: FailureWords;
}

/** What the controller logs of a key that failed, as its source has it. */
export interface FailureWords {
  /** `endpoints_controller.go:340`. */
  readonly source: string;
  /** What the key is called. */
  readonly key: string;
  readonly retrying: string;
  readonly dropped: string;
  /** At which retries are logged; drops always are. */
  readonly verbosity: number;
}

/** What every controller of Kubernetes allows a key before it is dropped. */
export const defaultMaxRetries = 15;

export function controllerQueue(
  options: ControllerOptions,
  name: string,
  rateLimiter?: RateLimiter,
): Workqueue {
  const { clock, timers, registry } = options;
  return new Workqueue({
    clock,
    timers,
    name,
    registry,
    ...(rateLimiter === undefined ? {} : { rateLimiter }),
  });
}

/** Works until the signal aborts. */
export async function runController(
  options: ControllerOptions,
  loop: ControllerLoop,
  signal: AbortSignal,
): Promise<void> {
  const { queue, workers, name } = loop;
  const maxRetries = loop.maxRetries ?? defaultMaxRetries;
  const sync: Sync = async (key, stop) => {
    try {
      await loop.sync(key, stop);
    } catch (error) {
      if (!stop.aborted) noteFailure(options, loop, { key, error, maxRetries });
      throw error;
    }
  };
  try {
    if (!(await synced(options.informers, signal))) return;
    await loop.onSynced?.();
    const log = options.log.child({ controller: name });
    await runWorkers({ queue, workers, sync, maxRetries, log, signal });
  } finally {
    queue.shutDown();
  }
}

/** False when the signal aborted first. */
async function synced(informers: Informers, signal: AbortSignal): Promise<boolean> {
  try {
    await informers.waitForSync(signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

function noteFailure(
  { klog, flags, profile }: ControllerOptions,
  { queue, name, failure: words }: ControllerLoop,
  failed: { readonly key: string; readonly error: unknown; readonly maxRetries: number },
): void {
  const { key, error, maxRetries } = failed;
  const err = error instanceof Error ? error.message : String(error);
  if (profile.logs === "sentences") {
    klog.write("E", words.source, `Sync ${key} failed with ${err}`);
    return;
  }
  const isDropped = queue.numRequeues(key) >= maxRetries;
  if (!isDropped && flags.v < words.verbosity) return;
  const message = isDropped ? words.dropped : words.retrying;
  klog.write("I", words.source, structured(message, { logger: name, [words.key]: key, err }));
}
