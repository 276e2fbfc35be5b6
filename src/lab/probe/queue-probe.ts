// What the controller manager's metrics say of the queues whose work publishes endpoints, in the
// form of any version: named after the queue before 1.14, labelled with its name since.
import type { Registry } from "prom-client";
import { parsePrometheusText } from "../../doctor/evidence/prometheus-text.ts";

export interface QueueReading {
  /** Keys that wait, and keys added since the start. */
  readonly depth: number;
  readonly adds: number;
}

export interface WorkReading {
  readonly keys: number;
  readonly workMs: number;
}

export class QueueReader {
  readonly #registry: Registry;
  readonly #queues: readonly string[];

  constructor(registry: Registry, queues: readonly string[]) {
    this.#registry = registry;
    this.#queues = queues;
  }

  /** Of all queues together; quick, because it is asked for again and again. */
  async read(): Promise<QueueReading> {
    let depth = 0;
    let adds = 0;
    for (const queue of this.#queues) {
      depth += await this.#value("workqueue_depth", `${queue}_depth`, queue);
      adds += await this.#value("workqueue_adds_total", `${queue}_adds`, queue);
    }
    return { depth, adds };
  }

  /** Keys done and the time workers spent on them, waits for tokens and answers included. */
  async work(): Promise<WorkReading> {
    let keys = 0;
    let workMs = 0;
    for (const queue of this.#queues) {
      const own = `${queue}_work_duration`;
      const isOld = this.#registry.getSingleMetric(own) !== undefined;
      const name = isOld ? own : "workqueue_work_duration_seconds";
      if (this.#registry.getSingleMetric(name) === undefined) continue;
      const text = await this.#registry.getSingleMetricAsString(name);
      for (const sample of parsePrometheusText(text)) {
        if (!isOld && sample.labels.get("name") !== queue) continue;
        if (sample.name === `${name}_count`) keys += sample.value;
        // Microseconds before 1.14, seconds since.
        if (sample.name === `${name}_sum`) workMs += sample.value * (isOld ? 0.001 : 1000);
      }
    }
    return { keys, workMs };
  }

  async #value(present: string, old: string, queue: string): Promise<number> {
    const own = this.#registry.getSingleMetric(old);
    if (own !== undefined) return (await own.get()).values[0]?.value ?? 0;
    const shared = await this.#registry.getSingleMetric(present)?.get();
    return shared?.values.find(({ labels }) => labels["name"] === queue)?.value ?? 0;
  }
}
