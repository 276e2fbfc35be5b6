// The charts of a cluster's control plane: queue, waits, requests by verb, throttling and heartbeats, read
// as a monitoring system reads them, and the no-op writes of the syncer. A part that cannot be read is a
// gap in its chart.
import type { Registry } from "prom-client";
import type { Environment } from "../../../../environment/environment.ts";
import type { KubeClient } from "../../../../kube/client/client.ts";
import { parseJson } from "../../../../kube/client/client.ts";
import { isRecord, listAt } from "../../../../kube/kinds/fields.ts";
import { nodeKind } from "../../../../kube/kinds/node.ts";
import { httpMetrics, type MetricsSource } from "../../../../lab/probe/metrics-source.ts";
import { type QueueLook, QueueProbe } from "../../../../lab/probe/queue-probe.ts";
import { workBetween } from "../../../../lab/probe/queue-watch.ts";
import { longestLoggedWaitMs } from "../../../../lab/probe/throttling-waits.ts";
import type { SeriesValue } from "../../../../server/page-source.ts";

export interface ControlPlaneWatchOptions
  extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  readonly cluster: string;
  readonly client: KubeClient;
  /** Of the controller manager; undefined while it starts. */
  readonly metricsUrl: () => string | undefined;
  /** `--node-monitor-grace-period`. */
  readonly graceMs: number;
  /** The metrics of `lockstep sync`. */
  readonly syncMetrics: Registry;
}

/** As often as charts get a point. */
const everyMs = 2_000;

/** Waits that the log has of this time; longer than the pause, so that none is missed. */
const loggedMs = 3_000;

const requestDeadlineMs = 5_000;

/** Charted before their first request, so that each keeps its place and colour. */
const usualVerbs = ["GET", "POST", "PUT", "DELETE"];

const queue = "endpoint";
const requestsTotal = "rest_client_requests_total";
const noopWritesTotal = "lockstep_sync_noop_writes_total";

interface Look {
  readonly atMs: number;
  readonly queue: QueueLook | undefined;
  /** Requests of the controller manager since its start, by verb. */
  readonly byVerb: ReadonlyMap<string, number>;
  readonly loggedWaitMs: number | undefined;
  readonly heartbeatMs: number | undefined;
  readonly noopWrites: number;
}

export class ControlPlaneWatch {
  readonly #options: ControlPlaneWatchOptions;
  readonly #stopping = new AbortController();
  readonly #metrics: MetricsSource;
  readonly #probe: QueueProbe;
  #before: Look | undefined;
  #last: Look | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: ControlPlaneWatchOptions) {
    this.#options = options;
    const { network, metricsUrl } = options;
    const { signal } = this.#stopping;
    this.#metrics = httpMetrics({ network, url: metricsUrl, signal });
    this.#probe = new QueueProbe({ metrics: this.#metrics, queues: [queue] });
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the page is closing"));
    await this.#watching;
  }

  /** Keys in the queue at the last look; undefined while it cannot be read. */
  get depth(): number | undefined {
    return this.#last?.queue?.depth;
  }

  /** Empty before the first look. */
  series(): readonly SeriesValue[] {
    const last = this.#last;
    if (last === undefined) return [];
    const { graceMs } = this.#options;
    const count = { chart: "control-plane queue", unit: "count" } as const;
    return [
      this.#value("queue depth", last.queue?.depth, {
        ...count,
        title: "keys in the endpoint queue",
      }),
      this.#value("queue wait", this.#queueWaitMs(last), {
        chart: "control-plane waits",
        title: "time of a key in the endpoint queue",
        unit: "ms",
      }),
      this.#value("throttled", last.loggedWaitMs ?? 0, {
        chart: "control-plane throttling",
        unit: "ms",
        title: "longest wait of a request for the client's rate limit",
      }),
      ...this.#rates(last),
      this.#value("heartbeat", last.heartbeatMs, {
        chart: "control-plane heartbeats",
        title: "time since the oldest heartbeat of a node",
        unit: "ms",
        limit: graceMs,
      }),
      this.#value(
        "noop",
        this.#perSecond(last, ({ noopWrites }) => noopWrites),
        {
          chart: "control-plane no-op writes",
          title: "no-op writes of lockstep sync",
          unit: "per second",
        },
      ),
    ];
  }

  #value(
    id: string,
    value: number | undefined,
    about: Pick<SeriesValue, "chart" | "title" | "unit"> & { readonly limit?: number },
  ): SeriesValue {
    const { cluster } = this.#options;
    return {
      id: `${cluster} ${id}`,
      limit: null,
      ...about,
      cluster,
      side: null,
      hop: null,
      direction: null,
      value: value ?? null,
    };
  }

  #queueWaitMs({ queue: now }: Look): number | undefined {
    const before = this.#before?.queue;
    if (before === undefined || now === undefined) return undefined;
    const { taken, waitMs } = workBetween(before, now);
    return taken === 0 ? undefined : waitMs / taken;
  }

  #rates(last: Look): readonly SeriesValue[] {
    const others = [...last.byVerb.keys()].filter((verb) => !usualVerbs.includes(verb)).sort();
    return [...usualVerbs, ...others].map((verb) =>
      this.#value(
        `requests ${verb}`,
        this.#perSecond(last, ({ byVerb }) => byVerb.get(verb) ?? 0),
        {
          chart: "control-plane requests of the controller manager",
          title: `${verb} requests of the controller manager`,
          unit: "per second",
        },
      ),
    );
  }

  /** Of a counter; one that went down was restarted. */
  #perSecond(last: Look, countOf: (look: Look) => number): number | undefined {
    const before = this.#before;
    if (before === undefined) return undefined;
    const [from, to] = [countOf(before), countOf(last)];
    return ((to < from ? to : to - from) * 1_000) / (last.atMs - before.atMs);
  }

  async #watch(): Promise<void> {
    const { timers } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#tryLook();
      await timers.sleep(everyMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /** The server may be down, or the controllers may restart: then the charts have a gap. */
  async #tryLook(): Promise<void> {
    let look: Look | undefined;
    try {
      look = await this.#look();
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        this.#options.log.debug("the control plane cannot be read", { error });
      }
    }
    this.#before = look === undefined ? undefined : this.#last;
    this.#last = look;
  }

  async #look(): Promise<Look> {
    const { clock, client, syncMetrics } = this.#options;
    const [look, samples, loggedWaitMs, heartbeatMs] = await Promise.all([
      this.#probe.look(),
      this.#metrics.read([requestsTotal]),
      longestLoggedWaitMs(client, loggedMs),
      this.#heartbeatMs(),
    ]);
    const byVerb = new Map<string, number>();
    for (const { name, labels, value } of samples ?? []) {
      const verb = labels.get("method");
      if (name !== requestsTotal || verb === undefined) continue;
      byVerb.set(verb, (byVerb.get(verb) ?? 0) + value);
    }
    const noop = await syncMetrics.getSingleMetric(noopWritesTotal)?.get();
    const noopWrites = (noop?.values ?? []).reduce((sum, { value }) => sum + value, 0);
    const atMs = clock.monotonicMs();
    return { atMs, queue: look, byVerb, loggedWaitMs, heartbeatMs, noopWrites };
  }

  /** The age of the oldest report of all nodes. */
  async #heartbeatMs(): Promise<number | undefined> {
    const { client, clock } = this.#options;
    const path = "/api/v1/nodes";
    const asked = { verb: "list", method: "GET", path, deadlineMs: requestDeadlineMs } as const;
    const list = parseJson(await client.request(asked));
    const nodes = isRecord(list) ? listAt(list, "items") : [];
    const ages = nodes.flatMap((node) => {
      const at = isRecord(node) ? nodeKind.project(node).ready?.lastHeartbeatTime : undefined;
      return at === undefined ? [] : [clock.wallMs() - at];
    });
    return ages.length === 0 ? undefined : Math.max(0, ...ages);
  }
}
