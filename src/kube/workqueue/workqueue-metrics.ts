// The work queue's metrics under the names and with the buckets that every Kubernetes component
// uses. So existing dashboards and rules work for ours and the lab's alike. One set per registry,
// with a label for the queue. Gauges of running work are computed at each scrape, not by a ticker.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../metrics-of-registry.ts";

/** The events that a queue reports; times are in milliseconds. */
export interface QueueMetrics {
  added(): void;
  /** The key had waited this long since it was added. */
  taken(waitedMs: number): void;
  finished(workedMs: number): void;
  /** A delayed add; client-go counts every one of them here, failure or not. */
  retried(): void;
  /** The queue is gone: it is no longer asked for its running work. */
  closed(): void;
}

/** How long each key in work has been running, asked for at every collection. */
export type RunningWork = () => Iterable<number>;

export function queueMetrics(
  registry: Registry,
  name: string,
  runningMs: RunningWork,
): QueueMetrics {
  const metrics = metricsOf(registry);
  const labels = { name };
  metrics.running.set(name, runningMs);
  const depth = metrics.depth.labels(labels);
  const adds = metrics.adds.labels(labels);
  const queueDuration = metrics.queueDuration.labels(labels);
  const workDuration = metrics.workDuration.labels(labels);
  const retries = metrics.retries.labels(labels);
  // A queue is seen from its start, as those of Go's client are.
  metrics.depth.set(labels, 0);
  metrics.adds.inc(labels, 0);
  metrics.retries.inc(labels, 0);
  metrics.queueDuration.zero(labels);
  metrics.workDuration.zero(labels);
  return {
    added: () => {
      depth.inc();
      adds.inc();
    },
    taken: (waitedMs) => {
      depth.dec();
      queueDuration.observe(waitedMs / 1000);
    },
    finished: (workedMs) => workDuration.observe(workedMs / 1000),
    retried: () => retries.inc(),
    closed: () => {
      if (metrics.running.get(name) === runningMs) metrics.running.delete(name);
    },
  };
}

/** 10 ns to 10 s by tens, as in every Kubernetes component: minutes all fall into +Inf. */
const durationBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10];

const metricsOf = oncePerRegistry(createMetrics);

function createMetrics(registry: Registry) {
  const running = new Map<string, RunningWork>();
  const shared = { labelNames: ["name"] as const, registers: [registry] };
  new Gauge({
    ...shared,
    name: "workqueue_unfinished_work_seconds",
    help: "Total processing time so far of the keys in progress",
    collect() {
      for (const [name, runningMs] of running) {
        let sumMs = 0;
        for (const ms of runningMs()) sumMs += ms;
        this.set({ name }, sumMs / 1000);
      }
    },
  });
  new Gauge({
    ...shared,
    name: "workqueue_longest_running_processor_seconds",
    help: "Processing time so far of the longest running key",
    collect() {
      for (const [name, runningMs] of running) {
        let longestMs = 0;
        for (const ms of runningMs()) longestMs = Math.max(longestMs, ms);
        this.set({ name }, longestMs / 1000);
      }
    },
  });
  return {
    running,
    depth: new Gauge({
      ...shared,
      name: "workqueue_depth",
      help: "Keys waiting in the queue",
    }),
    adds: new Counter({
      ...shared,
      name: "workqueue_adds_total",
      help: "Keys added, without duplicates",
    }),
    queueDuration: new Histogram({
      ...shared,
      name: "workqueue_queue_duration_seconds",
      help: "Waiting time of a key in the queue",
      buckets: durationBuckets,
    }),
    workDuration: new Histogram({
      ...shared,
      name: "workqueue_work_duration_seconds",
      help: "Processing time of a key",
      buckets: durationBuckets,
    }),
    retries: new Counter({
      ...shared,
      name: "workqueue_retries_total",
      help: "Delayed keys, for retries and batching",
    }),
  };
}
