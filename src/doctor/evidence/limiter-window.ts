// How the requests of a component spent their time between two looks at its metrics: waiting for
// the client's own limit, or for the server. The two together tell a tight limit from a slow server.
import type { MetricsWindow } from "./metrics-window.ts";

export interface LimiterWindow {
  readonly requests: number;
  readonly meanWaitSeconds: number;
  /** Total over all requests. */
  readonly waitSeconds: number;
  /** Without the wait; undefined when the component does not measure it. */
  readonly meanRequestSeconds: number | undefined;
}

/** Undefined before Kubernetes 1.18, which has no such metric, and when nothing was requested. */
export function limiterWindow(window: MetricsWindow): LimiterWindow | undefined {
  const waitSeconds = window.increase("rest_client_rate_limiter_duration_seconds_sum");
  const requests = window.increase("rest_client_rate_limiter_duration_seconds_count");
  if (waitSeconds === undefined || requests === undefined || requests === 0) return undefined;
  const requestSeconds = window.increase("rest_client_request_duration_seconds_sum");
  const measured = window.increase("rest_client_request_duration_seconds_count") ?? 0;
  return {
    requests,
    meanWaitSeconds: waitSeconds / requests,
    waitSeconds,
    meanRequestSeconds:
      requestSeconds === undefined || measured === 0 ? undefined : requestSeconds / measured,
  };
}
