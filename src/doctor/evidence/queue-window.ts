// One work queue of a controller between two looks at its metrics, under the names of any version:
// `workqueue_depth{name="endpoint"}` since 1.14, `endpoint_depth` in microseconds before.
import type { MetricsWindow } from "./metrics-window.ts";

export interface QueueWindow {
  readonly name: string;
  readonly depth: number;
  /** Keys finished in a second; NaN when the time between the looks is unknown. */
  readonly rate: number;
  /** Keys finished between the looks. */
  readonly done: number;
  readonly meanWorkSeconds: number;
  /** Total over all keys. */
  readonly workSeconds: number;
  /** Of the keys that were taken; those still waiting are not in it. */
  readonly meanQueueSeconds: number;
  /** Under which names the version shows this: work, depth and wait in the queue. */
  readonly metrics: Readonly<Record<"work" | "depth" | "queue", string>>;
}

/** Of the controllers that publish endpoints. */
export const endpointQueues = ["endpoint", "endpoint_slice", "endpoint_slice_mirroring"];

/** Those that were taken say how long they had waited; those behind will wait for the whole queue. */
export function queueDelayMs({ depth, rate, meanQueueSeconds }: QueueWindow): number {
  return Math.max(meanQueueSeconds, Number.isNaN(rate) ? 0 : depth / rate) * 1000;
}

const microsecondsPerSecond = 1e6;

/** Undefined when the page has no such queue, or nothing was finished. */
export function queueWindow(window: MetricsWindow, name: string): QueueWindow | undefined {
  const queue = { name };
  const seconds = (kind: string, part: string) =>
    window.increase(`workqueue_${kind}_duration_seconds_${part}`, queue);
  const workSeconds = seconds("work", "sum") ?? old(window, `${name}_work_duration_sum`);
  const done = seconds("work", "count") ?? window.increase(`${name}_work_duration_count`) ?? 0;
  const queueSeconds = seconds("queue", "sum") ?? old(window, `${name}_queue_latency_sum`);
  const taken = seconds("queue", "count") ?? window.increase(`${name}_queue_latency_count`) ?? 0;
  if (workSeconds === undefined || done === 0 || window.seconds <= 0) return undefined;
  return {
    name,
    depth: window.value("workqueue_depth", queue) ?? window.value(`${name}_depth`) ?? 0,
    rate: done / window.seconds,
    done,
    meanWorkSeconds: workSeconds / done,
    workSeconds,
    meanQueueSeconds: taken === 0 ? 0 : (queueSeconds ?? 0) / taken,
    metrics: seconds("work", "sum") === undefined ? namedMetrics(name) : labelledMetrics(name),
  };
}

function labelledMetrics(name: string): QueueWindow["metrics"] {
  return {
    work: `workqueue_work_duration_seconds{name="${name}"}`,
    depth: "workqueue_depth",
    queue: "workqueue_queue_duration_seconds",
  };
}

function namedMetrics(name: string): QueueWindow["metrics"] {
  return {
    work: `${name}_work_duration`,
    depth: `${name}_depth`,
    queue: `${name}_queue_latency`,
  };
}

function old(window: MetricsWindow, name: string): number | undefined {
  const microseconds = window.increase(name);
  return microseconds === undefined ? undefined : microseconds / microsecondsPerSecond;
}
