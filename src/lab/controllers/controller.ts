// The common parts of every controller: the shared watches, its own client, a queue of keys and
// workers. A controller registers its handlers in the turn in which it is called, before anything
// is started, and works once all watches are complete.
import type { Registry } from "prom-client";
import { type Klog, structured } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { RateLimiter } from "../../kube/workqueue/rate-limiter.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers, type Sync } from "../../kube/workqueue/workqueue-workers.ts";
import type { FailureLines, Profile } from "../versions/profile.ts";
import type { VersionFormats } from "../versions/version-formats.ts";
import type { ControllerFlags } from "./flags.ts";
import type { Informers } from "./informers.ts";
import { namedQueueMetrics } from "./named-queue-metrics.ts";

export interface ControllerOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly flags: ControllerFlags;
  readonly profile: Profile;
  readonly klog: Klog;
  readonly registry: Registry;
  /** How the version names the metrics of its queues; `labelled` unless given. */
  readonly queueMetrics?: VersionFormats["queues"];
}

export interface ControllerLoop {
  readonly queue: Workqueue;
  readonly workers: number;
  readonly sync: Sync;
  readonly maxRetries?: number;
  /** As soon as the workers run: what they have in hand by then may be added once more. */
  readonly onStarted?: (signal: AbortSignal) => Promise<void>;
  /** `endpoints-controller`, in log lines. */
  readonly name: string;
  readonly failure: FailureWords | FailureLines;
}

/** The log line of a failed key, when only the form differs by version. */
export interface FailureWords {
  /** `endpoints_controller.go:340`. */
  readonly source: string;
  /** The name of the key in the line. */
  readonly key: string;
  readonly retrying: string;
  readonly dropped: string;
  /** At which retries are logged; drops always are. */
  readonly verbosity: number;
}

/** Retries of a key before it is dropped, in every controller of Kubernetes. */
export const defaultMaxRetries = 15;

export function controllerQueue(
  options: ControllerOptions,
  name: string,
  rateLimiter?: RateLimiter,
): Workqueue {
  const { clock, timers, registry } = options;
  const isNamed = options.queueMetrics === "named";
  return new Workqueue({
    clock,
    timers,
    name,
    ...(isNamed ? { metrics: namedQueueMetrics(registry, name, clock) } : { registry }),
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
    const log = options.log.child({ controller: name });
    const working = runWorkers({ queue, workers, sync, maxRetries, log, signal });
    await Promise.all([working, loop.onStarted?.(signal)]);
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
  { queue, name, failure }: ControllerLoop,
  failed: { readonly key: string; readonly error: unknown; readonly maxRetries: number },
): void {
  const { key, error, maxRetries } = failed;
  const err = error instanceof Error ? error.message : String(error);
  const { retrying, dropped } = "source" in failure ? linesOf(failure, profile, name) : failure;
  const lines = queue.numRequeues(key) >= maxRetries ? dropped : [retrying];
  for (const { severity, source, verbosity, text } of lines) {
    if (flags.v >= verbosity) klog.write(severity, source, text(key, err));
  }
}

function linesOf(words: FailureWords, { logs }: Profile, logger: string): FailureLines {
  const { source, verbosity } = words;
  if (logs === "sentences") {
    const text = (key: string, error: string) => `Sync ${key} failed with ${error}`;
    const line = { severity: "E", source, verbosity: 0, text } as const;
    return { retrying: line, dropped: [line] };
  }
  const saying = (message: string) => (key: string, err: string) =>
    structured(message, { logger, [words.key]: key, err });
  const line = { severity: "I", source } as const;
  return {
    retrying: { ...line, verbosity, text: saying(words.retrying) },
    dropped: [{ ...line, verbosity: 0, text: saying(words.dropped) }],
  };
}
