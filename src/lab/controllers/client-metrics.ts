// The requests of a component under the names every Kubernetes component uses. The time is without
// the wait for the client's rate limit: the two together tell a slow server from a tight limit.
import { Counter, Histogram, type Registry } from "prom-client";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import { type KubeClient, type KubeRequest, StatusError } from "../../kube/client/client.ts";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

export interface MeasuredClientOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly server: string;
}

export function measured(options: MeasuredClientOptions): KubeClient {
  const { client, clock } = options;
  const { requests, duration } = metricsOf(options.registry);
  const { host } = new URL(options.server);
  const measure = async <Answer extends { readonly status: number }>(
    { method }: KubeRequest,
    send: () => Promise<Answer>,
  ): Promise<Answer> => {
    const startedAt = clock.monotonicMs();
    try {
      const answer = await send();
      requests.inc({ code: String(answer.status), method, host });
      return answer;
    } catch (error) {
      const code = error instanceof StatusError ? String(error.code) : "<error>";
      requests.inc({ code, method, host });
      throw error;
    } finally {
      const seconds = elapsedMs(startedAt, clock.monotonicMs()) / 1000;
      duration.observe({ verb: method, host }, seconds);
    }
  };
  return {
    request: (request) => measure(request, () => client.request(request)),
    stream: (request) => measure(request, () => client.stream(request)),
  };
}

/** component-base/metrics/prometheus/restclient/metrics.go. */
const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

const metricsOf = oncePerRegistry((registry) => ({
  requests: new Counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    labelNames: ["code", "method", "host"] as const,
    registers: [registry],
  }),
  duration: new Histogram({
    name: "rest_client_request_duration_seconds",
    help: "Request latency in seconds. Broken down by verb, and host.",
    labelNames: ["verb", "host"] as const,
    buckets: durationBuckets,
    registers: [registry],
  }),
}));
