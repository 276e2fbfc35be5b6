// Reads the work queues of a controller manager from its metrics, in the form of any version: since
// 1.14 `workqueue_depth{name="endpoint"}` in seconds, before that `endpoint_depth` in microseconds.
import type { LabelFilter } from "../../doctor/evidence/metrics-window.ts";
import type { MetricSample } from "../../doctor/evidence/prometheus-text.ts";
import type { MetricsSource } from "./metrics-source.ts";

/** Of all queues of a probe together. */
export interface QueueDepth {
  /** Keys that wait. */
  readonly depth: number;
  /** Keys added since the start of the process. */
  readonly adds: number;
}

/** Counters since the start of the process, of all queues and workers together. */
export interface QueueLook extends QueueDepth {
  /** Keys finished. */
  readonly keys: number;
  /** Time that workers spent on them, including waits for tokens and answers. */
  readonly workMs: number;
  /** Keys taken from the queue, and the time they had waited in it. */
  readonly taken: number;
  readonly waitMs: number;
  /** Requests sent by the process. */
  readonly requests: number;
}

export interface QueueProbeOptions {
  readonly metrics: MetricsSource;
  /** `endpoint`, `endpoint_slice`. */
  readonly queues: readonly string[];
  /** The requests that count: `{ method: "PUT" }`; all unless given. */
  readonly requests?: LabelFilter;
}

const requestsTotal = "rest_client_requests_total";
const work = { metric: "workqueue_work_duration_seconds", old: "work_duration" } as const;
const wait = { metric: "workqueue_queue_duration_seconds", old: "queue_latency" } as const;

export class QueueProbe {
  readonly #options: QueueProbeOptions;

  constructor(options: QueueProbeOptions) {
    this.#options = options;
  }

  /** Undefined while the process does not listen. Cheaper than `look`. */
  async depth(): Promise<QueueDepth | undefined> {
    const samples = await this.#options.metrics.read(this.#depthMetrics());
    return samples && this.#depthIn(samples);
  }

  /** Undefined while the process does not listen. */
  async look(): Promise<QueueLook | undefined> {
    const { metrics, queues, requests } = this.#options;
    const samples = await metrics.read([
      ...this.#depthMetrics(),
      ...[work, wait].flatMap(({ metric, old }) => [
        metric,
        ...queues.map((one) => `${one}_${old}`),
      ]),
      requestsTotal,
    ]);
    if (samples === undefined) return undefined;
    return {
      ...this.#depthIn(samples),
      keys: this.#countIn(samples, work),
      workMs: this.#msIn(samples, work),
      taken: this.#countIn(samples, wait),
      waitMs: this.#msIn(samples, wait),
      requests: sumOf(samples, requestsTotal, requests) ?? 0,
    };
  }

  #depthMetrics(): readonly string[] {
    const { queues } = this.#options;
    const old = queues.flatMap((queue) => [`${queue}_depth`, `${queue}_adds`]);
    return ["workqueue_depth", "workqueue_adds_total", ...old];
  }

  #depthIn(samples: Samples): QueueDepth {
    const sum = (metric: string, old: string) =>
      this.#sum((name) => sumOf(samples, metric, { name }) ?? sumOf(samples, `${name}_${old}`));
    return { depth: sum("workqueue_depth", "depth"), adds: sum("workqueue_adds_total", "adds") };
  }

  #countIn(samples: Samples, { metric, old }: typeof work | typeof wait): number {
    return this.#sum(
      (name) =>
        sumOf(samples, `${metric}_count`, { name }) ?? sumOf(samples, `${name}_${old}_count`),
    );
  }

  /** Seconds since 1.14, microseconds before. */
  #msIn(samples: Samples, { metric, old }: typeof work | typeof wait): number {
    return this.#sum((name) => {
      const seconds = sumOf(samples, `${metric}_sum`, { name });
      if (seconds !== undefined) return seconds * 1_000;
      return (sumOf(samples, `${name}_${old}_sum`) ?? 0) / 1_000;
    });
  }

  #sum(countOf: (queue: string) => number | undefined): number {
    return this.#options.queues.reduce((sum, queue) => sum + (countOf(queue) ?? 0), 0);
  }
}

type Samples = readonly MetricSample[];

/** Undefined when no sample has the name and the labels. */
function sumOf(samples: Samples, name: string, labels: LabelFilter = {}): number | undefined {
  const wanted = Object.entries(labels);
  const found = samples.filter(
    (sample) =>
      sample.name === name && wanted.every(([key, value]) => sample.labels.get(key) === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
