// How the requests of a component spent their time between two looks at its metrics: waiting for
// the client's own limit, or for the server. The two together tell a tight limit from a slow server.
import type { MetricsWindow } from "./metrics-window.ts";
import type { QueueWindow } from "./queue-window.ts";

export interface LimiterWindow {
  readonly requests: number;
  readonly meanWaitSeconds: number;
  /** Total over all requests. */
  readonly waitSeconds: number;
  /** Without the wait; undefined when the component does not measure it. */
  readonly meanRequestSeconds: number | undefined;
  /** The metric that says so. */
  readonly metric: string;
  /** Whether the component measures the wait, or it only follows from what it measures. */
  readonly isMeasured: boolean;
}

const waitMetric = "rest_client_rate_limiter_duration_seconds";

/** By version: since 1.14, and before. */
const requestMetrics = [
  "rest_client_request_duration_seconds",
  "rest_client_request_latency_seconds",
] as const;

/** Undefined when nothing was requested, and for pages that say nothing of requests. */
export function limiterWindow(
  window: MetricsWindow,
  queue: QueueWindow,
): LimiterWindow | undefined {
  return measuredWindow(window) ?? inferredWindow(window, queue);
}

/**
 * Since Kubernetes 1.18, whose client also begins to time a request before it waits (client-go
 * rest/request.go): the server's part is what is left without the wait.
 */
function measuredWindow(window: MetricsWindow): LimiterWindow | undefined {
  const waitSeconds = window.increase(`${waitMetric}_sum`);
  const requests = window.increase(`${waitMetric}_count`);
  if (waitSeconds === undefined || requests === undefined || requests === 0) return undefined;
  const times = requestTimes(window);
  return {
    requests,
    meanWaitSeconds: waitSeconds / requests,
    waitSeconds,
    meanRequestSeconds: times && Math.max(0, times.totalSeconds - waitSeconds) / times.requests,
    metric: waitMetric,
    isMeasured: true,
  };
}

/**
 * Before 1.18 the wait is not measured: it is the part of the work on keys in which no request was
 * with the server. Requests of other queues are subtracted too, so the real wait is at least this.
 */
function inferredWindow(window: MetricsWindow, queue: QueueWindow): LimiterWindow | undefined {
  if (window.value(`${waitMetric}_count`) !== undefined) return undefined;
  const times = requestTimes(window);
  if (times === undefined) return undefined;
  const waitSeconds = Math.max(0, queue.workSeconds - times.totalSeconds);
  return {
    requests: times.requests,
    meanWaitSeconds: waitSeconds / queue.done,
    waitSeconds,
    meanRequestSeconds: times.meanSeconds,
    metric: times.metric,
    isMeasured: false,
  };
}

function requestTimes(window: MetricsWindow) {
  for (const metric of requestMetrics) {
    const totalSeconds = window.increase(`${metric}_sum`);
    const requests = window.increase(`${metric}_count`) ?? 0;
    if (totalSeconds !== undefined && requests > 0) {
      return { metric, totalSeconds, requests, meanSeconds: totalSeconds / requests };
    }
  }
  return undefined;
}
