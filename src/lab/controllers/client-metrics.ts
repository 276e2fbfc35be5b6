// The requests of a component under the names its version has. The time is that of the client which
// is measured: with the wait for the rate limit since 1.18, without it before.
import { Counter, Histogram, type Registry } from "prom-client";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import { type KubeClient, type KubeRequest, StatusError } from "../../kube/client/client.ts";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";

/**
 * `latency-by-url` up to 1.13 (pkg/client/metrics/prometheus/prometheus.go), `duration-by-prefix`
 * in 1.17, `duration-by-host` today (component-base/metrics/prometheus/restclient/metrics.go).
 */
export type ClientMetricsForm = "latency-by-url" | "duration-by-prefix" | "duration-by-host";

export interface MeasuredClientOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly server: string;
  readonly form: ClientMetricsForm;
}

export function measured(options: MeasuredClientOptions): KubeClient {
  const { client, clock, server, form } = options;
  const metrics = metricsOf(options.registry);
  metrics.observer ??= durationObserver(options.registry, form);
  const { requests, observer } = metrics;
  const { host } = new URL(server);
  const measure = async <Answer extends { readonly status: number }>(
    request: KubeRequest,
    send: () => Promise<Answer>,
  ): Promise<Answer> => {
    const { method } = request;
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
      // client-go measures no watch: it would be the time until its headers.
      if (request.verb !== "watch") observer(request, server, seconds);
    }
  };
  return {
    request: (request) => measure(request, () => client.request(request)),
    stream: (request) => measure(request, () => client.stream(request)),
  };
}

/** Whether the wait for the client's limit is measured: since 1.18. */
export function measuresLimiter(form: ClientMetricsForm): boolean {
  return form === "duration-by-host";
}

type DurationObserver = (request: KubeRequest, server: string, seconds: number) => void;

const metricsOf = oncePerRegistry((registry) => ({
  requests: new Counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    labelNames: ["code", "method", "host"] as const,
    registers: [registry],
  }),
  observer: undefined as DurationObserver | undefined,
}));

/** 1 ms to half a second, doubling. */
const oldBuckets = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512];

const presentBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

function durationObserver(registry: Registry, form: ClientMetricsForm): DurationObserver {
  if (form === "duration-by-host") {
    const duration = new Histogram({
      name: "rest_client_request_duration_seconds",
      help: "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
      labelNames: ["verb", "host"] as const,
      buckets: presentBuckets,
      registers: [registry],
    });
    return ({ method }, server, seconds) =>
      duration.observe({ verb: method, host: new URL(server).host }, seconds);
  }
  const isOld = form === "latency-by-url";
  const duration = new Histogram({
    name: `rest_client_request_${isOld ? "latency" : "duration"}_seconds`,
    help: `${isOld ? "" : "[ALPHA] "}Request latency in seconds. Broken down by verb and URL.`,
    labelNames: ["verb", "url"] as const,
    buckets: oldBuckets,
    registers: [registry],
  });
  // 1.17 takes every path for one it does not know: client-go rest/request.go finalURLTemplate.
  const templateOf = isOld ? urlTemplate : () => "/%7Bprefix%7D";
  return ({ method, path }, server, seconds) =>
    duration.observe({ verb: method, url: `${server}${templateOf(path)}` }, seconds);
}

/** Names and values give way to what they are, in braces that a URL encodes. */
function urlTemplate(path: string): string {
  const [place = "", query] = path.split("?", 2);
  const template = place
    .replace(namespacePart, "/namespaces/%7Bnamespace%7D/")
    .replace(namePart, "$1%7Bname%7D");
  if (query === undefined) return template;
  const keys = [...new Set(query.split("&").map((pair) => pair.split("=", 1)[0] ?? ""))].sort();
  return `${template}?${keys.map((key) => `${key}=%7Bvalue%7D`).join("&")}`;
}

const namespacePart = /\/namespaces\/[^/]+\/(?!status|finalize)/;

/** Behind group, version, the namespace where there is one, and the resource. */
const namePart =
  /^((?:\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/%7B\w+%7D)?(?!\/namespaces\/%7B)\/[^/]+\/)[^/]+/;
