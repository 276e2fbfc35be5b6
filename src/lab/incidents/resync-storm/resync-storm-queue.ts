// The queue of the endpoints controller as its metrics show it: when a resync has filled it, when it
// is empty again, and what a key cost in between.
import { type MetricsPage, MetricsWindow } from "../../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../../doctor/evidence/prometheus-text.ts";
import { queueWindow } from "../../../doctor/evidence/queue-window.ts";
import type { Environment } from "../../../environment/environment.ts";
import { NetworkError } from "../../../environment/network.ts";
import type { StormMeter } from "./storm.ts";

export interface QueueWatchOptions extends Pick<Environment, "network"> {
  /** Undefined while the controllers are starting. */
  readonly metricsUrl: () => string | undefined;
  readonly meter: StormMeter;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export interface QueueLook {
  readonly atMs: number;
  readonly page: MetricsPage;
  /** Keys added since the process started. */
  readonly adds: number;
  readonly depth: number;
}

export type Point = readonly [atMs: number, value: number];

const queue = "endpoint";
const label = { name: queue };

/** Until the process listens; far less than anything measured. */
const startingMs = 100;

export class QueueWatch {
  readonly #options: QueueWatchOptions;
  readonly #depths: Point[] = [];
  readonly #rates: Point[] = [];
  #recordedAtMs: number | undefined;

  constructor(options: QueueWatchOptions) {
    this.#options = options;
  }

  /** Keys that waited, at every look since `record`. */
  get depths(): readonly Point[] {
    return this.#depths;
  }

  /** PUTs a second from look to look since `record`. */
  get rates(): readonly Point[] {
    return this.#rates;
  }

  /** From now on looks are kept, for a chart. */
  record(): void {
    this.#recordedAtMs = this.#options.now();
  }

  async look(): Promise<QueueLook> {
    for (;;) {
      const page = await this.#read();
      if (page !== undefined) return this.#take(page);
      await this.#options.sleep(startingMs);
    }
  }

  /**
   * Looks until so many keys were added since an earlier look, as a resync adds every service, and
   * returns the last look before they were.
   */
  async untilAdded(since: QueueLook, keys: number, everyMs: number): Promise<QueueLook> {
    let last = since;
    for (;;) {
      const look = await this.look();
      if (look.adds - last.adds >= keys) return last;
      last = look;
      await this.#options.sleep(everyMs);
    }
  }

  async untilEmpty(everyMs: number): Promise<QueueLook> {
    for (;;) {
      const look = await this.look();
      if (look.depth === 0) return look;
      await this.#options.sleep(everyMs);
    }
  }

  #take(page: MetricsPage): QueueLook {
    const { meter } = this.#options;
    const window = new MetricsWindow(page, page);
    const atMs = page.atMs;
    const depth = window.value("workqueue_depth", label) ?? 0;
    if (this.#recordedAtMs !== undefined && atMs > this.#recordedAtMs) {
      const { requests } = meter.window(this.#recordedAtMs, atMs);
      this.#depths.push([atMs, depth]);
      this.#rates.push([atMs, (requests * 1000) / (atMs - this.#recordedAtMs)]);
      this.#recordedAtMs = atMs;
    }
    return { atMs, page, adds: window.value("workqueue_adds_total", label) ?? 0, depth };
  }

  /** Undefined while nobody listens. */
  async #read(): Promise<MetricsPage | undefined> {
    const { network, metricsUrl, now } = this.#options;
    const url = metricsUrl();
    if (url === undefined) return undefined;
    try {
      const { body } = await network.request({ method: "GET", url });
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      const samples = parsePrometheusText(text, (name) => name.startsWith("workqueue_"));
      return { atMs: now(), samples };
    } catch (error) {
      if (error instanceof NetworkError) return undefined;
      throw error;
    }
  }
}

export interface Work {
  /** How long a worker was at a key, on average. */
  readonly meanMs: number;
  /** All workers and all keys together. */
  readonly totalMs: number;
}

/** What the workers did between two looks. */
export function workBetween(from: QueueLook, to: QueueLook): Work {
  const window = queueWindow(new MetricsWindow(from.page, to.page), queue);
  const { meanWorkSeconds = 0, workSeconds = 0 } = window ?? {};
  return { meanMs: meanWorkSeconds * 1000, totalMs: workSeconds * 1000 };
}
