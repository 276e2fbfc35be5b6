// Looks at the metrics of a controller manager now and then, as a monitoring system would, and keeps
// what the charts and the figures of a play are made of: the depth of a queue, how long a key waits
// and is worked on, and the requests sent. Bounded by the time of one play.
import {
  type LabelFilter,
  type MetricsPage,
  MetricsWindow,
} from "../../doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../doctor/evidence/prometheus-text.ts";
import { type QueueWindow, queueWindow } from "../../doctor/evidence/queue-window.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import type { Series } from "../incidents/incident.ts";

export interface ControllerWatchOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  /** Undefined while nobody listens. */
  readonly metricsUrl: () => string | undefined;
  /** Milliseconds since the stage was opened. */
  readonly now: () => number;
  /** The work queue to look at: `endpoint`. */
  readonly queue: string;
  readonly everyMs: number;
  /** Which requests the rate counts: `{ method: "PUT" }`; all unless given. */
  readonly requests?: LabelFilter;
}

/** The point of a series: time on the stage, and value. */
type Point = readonly [atMs: number, value: number];

const requestsTotal = "rest_client_requests_total";

export class ControllerWatch {
  readonly #options: ControllerWatchOptions;
  readonly #stopping = new AbortController();
  readonly #depths: Point[] = [];
  readonly #rates: Point[] = [];
  #first: MetricsPage | undefined;
  #last: MetricsPage | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: ControllerWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the play is over"));
    await this.#watching;
  }

  get depths(): readonly Point[] {
    return this.#depths;
  }

  /** Requests a second. */
  get rates(): readonly Point[] {
    return this.#rates;
  }

  /** The queue from the first look to the last; undefined before two. */
  queue(): QueueWindow | undefined {
    if (this.#first === undefined || this.#last === undefined) return undefined;
    return queueWindow(new MetricsWindow(this.#first, this.#last), this.#options.queue);
  }

  series(): readonly Series[] {
    const { queue, requests } = this.#options;
    const kind = requests?.["method"] ?? "requests";
    return [
      {
        id: `${queue}-queue-depth`,
        text: `keys in the ${queue} queue`,
        unit: "count",
        points: this.#depths,
      },
      {
        id: "controller-requests",
        text: `${kind} of the controller manager a second`,
        unit: "per second",
        points: this.#rates,
      },
    ];
  }

  async #watch(): Promise<void> {
    const { timers, everyMs } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const page = await this.#read();
      if (page !== undefined) this.#take(page);
      try {
        await timers.sleep(everyMs, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #take(page: MetricsPage): void {
    const { queue, requests, now } = this.#options;
    const before = this.#last;
    this.#first ??= page;
    this.#last = page;
    const window = new MetricsWindow(before ?? page, page);
    const depth =
      window.value("workqueue_depth", { name: queue }) ?? window.value(`${queue}_depth`);
    if (depth !== undefined) this.#depths.push([now(), depth]);
    const sent = window.increase(requestsTotal, requests);
    if (sent !== undefined && window.seconds > 0) this.#rates.push([now(), sent / window.seconds]);
  }

  /** Undefined while the controller manager is away, as it is while it starts again. */
  async #read(): Promise<MetricsPage | undefined> {
    const { clock, network, metricsUrl } = this.#options;
    const url = metricsUrl();
    if (url === undefined) return undefined;
    try {
      const response = await network.request({
        method: "GET",
        url,
        signal: this.#stopping.signal,
      });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      const isWanted = (name: string) => name === requestsTotal || name.includes("queue");
      const samples = parsePrometheusText(text, (name) => isWanted(name) || this.#isOld(name));
      return { atMs: clock.monotonicMs(), samples };
    } catch (error) {
      if (error instanceof NetworkError) return undefined;
      throw error;
    }
  }

  /** Before 1.14 the queue's name came first: `endpoint_depth`. */
  #isOld(name: string): boolean {
    return name.startsWith(`${this.#options.queue}_`);
  }
}
