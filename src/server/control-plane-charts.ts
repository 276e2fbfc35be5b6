// The charts of one cluster's control plane, from its metrics and objects. Pure. A value that cannot be
// known is a gap in its chart, never zero.
import { limiterWindow } from "../doctor/evidence/limiter-window.ts";
import { type MetricsPage, MetricsWindow } from "../doctor/evidence/metrics-window.ts";
import { endpointQueues, type QueueWindow, queueWindow } from "../doctor/evidence/queue-window.ts";
import type { SeriesValue } from "./page-source.ts";

/** The newest page of a process, and the one before it; a process that just started has none. */
export interface ProcessPages {
  readonly before: MetricsPage | undefined;
  readonly last: MetricsPage;
}

export interface ControlPlaneLook {
  /** Of controller managers. */
  readonly pages: readonly ProcessPages[];
  /** Of API servers. */
  readonly servers: readonly ProcessPages[];
  /** The age of the oldest heartbeat of all nodes. */
  readonly heartbeatMs: number | undefined;
  /** `--node-monitor-grace-period`. */
  readonly graceMs: number;
  /** The record of the controller managers' leader lock. */
  readonly leader: { readonly renewedAgoMs: number; readonly leaseMs: number } | undefined;
}

const requestsTotal = "rest_client_requests_total";
const noopWritesTotal = "lockstep_sync_noop_writes_total";

/** Small beside the waits in the queue that they cause, so it is a chart of its own. */
const throttling = {
  chart: "control-plane throttling: mean wait of a request",
  unit: "ms",
} as const;

/** Since Kubernetes 1.14, and before. */
const serverRequests = ["apiserver_request_total", "apiserver_request_count"];
/** Of priority and fairness, since Kubernetes 1.18. */
const serverWait = "apiserver_flowcontrol_request_wait_duration_seconds";
const publishedResources = ["endpoints", "endpointslices"];

/** The metrics of an API server that are charted, by name: its page has some megabytes. */
export const serverMetrics = [...serverRequests, `${serverWait}_sum`, `${serverWait}_count`];

/** Most clusters use four. */
const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"];

export function controlPlaneCharts(
  cluster: string,
  { pages, servers, heartbeatMs, graceMs, leader }: ControlPlaneLook,
): readonly SeriesValue[] {
  const windows = windowsOf(pages);
  return [
    ...queueCharts(cluster, windows, pages),
    ...rateCharts(cluster, windows),
    ...serverCharts(cluster, servers),
    value(cluster, "heartbeat", heartbeatMs, {
      chart: "control-plane heartbeats",
      title: "time since the oldest heartbeat of a node",
      unit: "ms",
      limit: graceMs,
    }),
    value(cluster, "leader", leader?.renewedAgoMs, {
      chart: "control-plane leader lock",
      title: "time since the controller manager renewed its leader lock",
      unit: "ms",
      limit: leader?.leaseMs,
    }),
  ];
}

function windowsOf(pages: readonly ProcessPages[]): readonly MetricsWindow[] {
  return pages.flatMap(({ before, last }) =>
    before === undefined ? [] : [new MetricsWindow(before, last)],
  );
}

function queueCharts(
  cluster: string,
  windows: readonly MetricsWindow[],
  pages: readonly ProcessPages[],
): readonly SeriesValue[] {
  const queues = windows.flatMap((window) =>
    endpointQueues.flatMap((name) => {
      const queue = queueWindow(window, name);
      return queue === undefined ? [] : [{ window, queue }];
    }),
  );
  const depth = depthIn(pages.map(({ last }) => last));
  if (depth === undefined) return [];
  const waits = queues.map(({ queue }) => queue.meanQueueSeconds * 1_000);
  const limits = queues.flatMap(({ window, queue }) => limiterMs(window, queue) ?? []);
  return [
    value(cluster, "queue depth", depth, {
      chart: "control-plane queue",
      title: "keys in the endpoint queues",
      unit: "count",
    }),
    value(cluster, "queue wait", greatest(waits), {
      chart: "control-plane waits",
      title: "time of a key in the endpoint queues",
      unit: "ms",
    }),
    value(cluster, "throttled", greatest(limits), {
      ...throttling,
      title: "mean wait of a request for the client's rate limit",
    }),
  ];
}

/** Only the leader has keys, so the sum is its depth. */
function depthIn(pages: readonly MetricsPage[]): number | undefined {
  const names = new Set(endpointQueues.map((name) => `${name}_depth`));
  const depths = pages.flatMap(({ samples }) =>
    samples.flatMap(({ name, labels, value: depth }) => {
      const isQueue =
        names.has(name) ||
        (name === "workqueue_depth" && endpointQueues.includes(labels.get("name") ?? ""));
      return isQueue ? [depth] : [];
    }),
  );
  return depths.length === 0 ? undefined : sumOf(depths);
}

function limiterMs(window: MetricsWindow, queue: QueueWindow): number | undefined {
  const limiter = limiterWindow(window, queue);
  return limiter === undefined ? undefined : limiter.meanWaitSeconds * 1_000;
}

function rateCharts(cluster: string, windows: readonly MetricsWindow[]): readonly SeriesValue[] {
  const rates = verbs.flatMap((verb) => {
    const rate = rateOf(windows, requestsTotal, { method: verb });
    if (rate === undefined) return [];
    return value(cluster, `requests ${verb}`, rate, {
      chart: `control-plane requests of the controller manager in ${cluster}`,
      title: `${verb} requests of the controller manager in ${cluster}`,
      unit: "per second",
    });
  });
  const noop = rateOf(windows, noopWritesTotal);
  if (noop === undefined) return rates;
  const about = { title: "no-op writes of lockstep sync", unit: "per second" } as const;
  return [
    ...rates,
    value(cluster, "noop", noop, { chart: "control-plane no-op writes", ...about }),
  ];
}

/** Visible on managed clusters too, which hide the controller manager. */
function serverCharts(cluster: string, servers: readonly ProcessPages[]): readonly SeriesValue[] {
  const windows = windowsOf(servers);
  const writes = verbs.flatMap((verb) => {
    const rates = publishedResources.flatMap(
      (resource) => writeRate(windows, resource, verb) ?? [],
    );
    if (verb === "GET" || rates.length === 0) return [];
    return value(cluster, `writes ${verb}`, sumOf(rates), {
      chart: `control-plane writes of endpoints in ${cluster}`,
      title: `${verb} of Endpoints and EndpointSlices in ${cluster}`,
      unit: "per second",
    });
  });
  const waits = servers.flatMap((pages) => {
    return windowsOf([pages]).flatMap((window) => waitsOf(window, pages.last));
  });
  const wait = value(cluster, "server wait", greatest(waits), {
    ...throttling,
    title: "mean wait of a request in a queue of the API server",
  });
  return [...writes, wait];
}

function writeRate(
  windows: readonly MetricsWindow[],
  resource: string,
  verb: string,
): number | undefined {
  const [now, old] = serverRequests.map((name) => rateOf(windows, name, { resource, verb }));
  return now ?? old;
}

/** Of each priority level with requests: the mean of all would hide one that is full. */
function waitsOf(window: MetricsWindow, { samples }: MetricsPage): readonly number[] {
  const levels = new Set(
    samples.flatMap(({ name, labels }) =>
      name === `${serverWait}_count` ? (labels.get("priority_level") ?? []) : [],
    ),
  );
  return [...levels].flatMap((level) => {
    const labels = { priority_level: level };
    const requests = window.increase(`${serverWait}_count`, labels) ?? 0;
    const seconds = window.increase(`${serverWait}_sum`, labels) ?? 0;
    return requests === 0 ? [] : (seconds * 1_000) / requests;
  });
}

function rateOf(
  windows: readonly MetricsWindow[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const rates = windows.flatMap((window) => {
    const increase = window.increase(name, labels);
    return increase === undefined ? [] : [increase / window.seconds];
  });
  return rates.length === 0 ? undefined : sumOf(rates);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0);
}

function greatest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

function value(
  cluster: string,
  id: string,
  now: number | undefined,
  {
    limit,
    title,
    ...about
  }: Pick<SeriesValue, "chart" | "title" | "unit"> & { readonly limit?: number | undefined },
): SeriesValue {
  return {
    id: `${cluster} ${id}`,
    ...about,
    title: title.endsWith(cluster) ? title : `${title} in ${cluster}`,
    limit: limit ?? null,
    cluster,
    side: null,
    hop: null,
    direction: null,
    value: now ?? null,
  };
}
