// How each version of the API server names its request metrics: staging/src/k8s.io/apiserver/pkg/
// endpoints/metrics/metrics.go of 1.7, 1.9, 1.17 and 1.33. Names that were deprecated in 1.14 are
// hidden in 1.17 already, so no version here shows two eras at once.

export type PlaceLabel =
  | "verb"
  | "dry_run"
  | "group"
  | "version"
  | "resource"
  | "subresource"
  | "scope"
  | "component";

export type RequestLabel = PlaceLabel | "client" | "contentType" | "code";

interface MetricNames<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
}

export interface RequestMetricsForm {
  readonly total: MetricNames<RequestLabel>;
  readonly duration: MetricNames<PlaceLabel> & {
    readonly buckets: readonly number[];
    /** 1 for seconds, a million for microseconds. */
    readonly unitsPerSecond: number;
  };
  /** In the same unit. */
  readonly summary?: MetricNames<PlaceLabel> & { readonly maxAgeMs: number };
  readonly longRunning?: MetricNames<PlaceLabel>;
  readonly inFlight?: { readonly name: string; readonly help: string; readonly label: string };
  /** Whether one object of a namespace is of scope `resource`, or of its namespace. */
  readonly scope: "by-name" | "by-namespace";
}

const hourMs = 3_600_000;
const microseconds = 1_000_000;

/** 125 ms to 8 s, doubling. */
const oldBuckets = [125e3, 250e3, 500e3, 1e6, 2e6, 4e6, 8e6];

const oldPlace = ["verb", "resource", "subresource"] as const;

export const requestMetrics17: RequestMetricsForm = {
  total: {
    name: "apiserver_request_count",
    help:
      "Counter of apiserver requests broken out for each verb, API resource, client, and HTTP " +
      "response contentType and code.",
    labelNames: [...oldPlace, "client", "contentType", "code"],
  },
  duration: {
    name: "apiserver_request_latencies",
    help: "Response latency distribution in microseconds for each verb, resource and client.",
    labelNames: oldPlace,
    buckets: oldBuckets,
    unitsPerSecond: microseconds,
  },
  summary: {
    name: "apiserver_request_latencies_summary",
    help: "Response latency summary in microseconds for each verb and resource.",
    labelNames: oldPlace,
    maxAgeMs: hourMs,
  },
  scope: "by-namespace",
};

const scopedPlace = [...oldPlace, "scope"] as const;

export const requestMetrics19: RequestMetricsForm = {
  total: {
    ...requestMetrics17.total,
    labelNames: [...scopedPlace, "client", "contentType", "code"],
  },
  duration: {
    ...requestMetrics17.duration,
    help: "Response latency distribution in microseconds for each verb, resource and subresource.",
    labelNames: scopedPlace,
  },
  summary: {
    name: "apiserver_request_latencies_summary",
    help: "Response latency summary in microseconds for each verb, resource and subresource.",
    labelNames: scopedPlace,
    maxAgeMs: 5 * hourMs,
  },
  longRunning: {
    name: "apiserver_longrunning_gauge",
    help:
      "Gauge of all active long-running apiserver requests broken out by verb, API resource, and " +
      "scope. Not all requests are tracked this way.",
    labelNames: scopedPlace,
  },
  inFlight: {
    name: "apiserver_current_inflight_requests",
    help:
      "Maximal mumber of currently used inflight request limit of this apiserver per request " +
      "kind in last second.",
    label: "requestKind",
  },
  scope: "by-namespace",
};

const fullPlace = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;

const openPlace = fullPlace.filter((label) => label !== "dry_run");

export const requestMetrics117: RequestMetricsForm = {
  total: {
    name: "apiserver_request_total",
    help:
      "[ALPHA] Counter of apiserver requests broken out for each verb, dry run value, group, " +
      "version, resource, scope, component, client, and HTTP response contentType and code.",
    labelNames: [...fullPlace, "client", "contentType", "code"],
  },
  duration: {
    name: "apiserver_request_duration_seconds",
    help:
      "[ALPHA] Response latency distribution in seconds for each verb, dry run value, group, " +
      "version, resource, subresource, scope and component.",
    labelNames: fullPlace,
    buckets: [
      0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75,
      2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
    ],
    unitsPerSecond: 1,
  },
  longRunning: {
    name: "apiserver_longrunning_gauge",
    help:
      "[ALPHA] Gauge of all active long-running apiserver requests broken out by verb, group, " +
      "version, resource, scope and component. Not all requests are tracked this way.",
    labelNames: openPlace,
  },
  inFlight: {
    name: "apiserver_current_inflight_requests",
    help:
      "[ALPHA] Maximal number of currently used inflight request limit of this apiserver per " +
      "request kind in last second.",
    label: "requestKind",
  },
  scope: "by-namespace",
};

export const requestMetrics133: RequestMetricsForm = {
  total: {
    name: "apiserver_request_total",
    help:
      "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, " +
      "version, resource, scope, component, and HTTP response code.",
    labelNames: [...fullPlace, "code"],
  },
  duration: {
    name: "apiserver_request_duration_seconds",
    help:
      "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, " +
      "version, resource, subresource, scope and component.",
    labelNames: fullPlace,
    buckets: [
      0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
      45, 60,
    ],
    unitsPerSecond: 1,
  },
  longRunning: {
    name: "apiserver_longrunning_requests",
    help:
      "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, " +
      "version, resource, scope and component. Not all requests are tracked this way.",
    labelNames: openPlace,
  },
  inFlight: {
    name: "apiserver_current_inflight_requests",
    help:
      "[STABLE] Maximal number of currently used inflight request limit of this apiserver per " +
      "request kind in last second.",
    label: "request_kind",
  },
  scope: "by-name",
};
