// The request metrics of an API server, with the names and labels of its version. A request is in
// flight (or long-running) from the time its route is known. It is counted once, with its code and
// duration, when it ends.
import { Counter, Gauge, Histogram, type LabelValues, type Registry } from "prom-client";
import { GoSummary } from "../../components/go-summary.ts";
import type { Clock } from "../../environment/clock.ts";
import { oncePerRegistry } from "../../kube/metrics-of-registry.ts";
import {
  isLongRunning,
  type RequestObserver,
  type RequestOutcome,
  type ServedRequest,
} from "./request-record.ts";
import type { ResourceRoute, Route } from "./route.ts";

interface RequestMetricsOptions {
  readonly registry: Registry;
  readonly form: RequestMetricsForm;
  readonly clock: Clock;
}

/** One for all servers that share a registry. */
export function requestMetrics(options: RequestMetricsOptions): RequestObserver {
  const made = metersOf(options.registry);
  made.meter ??= new RequestMeter(options);
  return made.meter;
}

const metersOf = oncePerRegistry((): { meter: RequestMeter | undefined } => ({ meter: undefined }));

class RequestMeter implements RequestObserver {
  readonly #form: RequestMetricsForm;
  readonly #total: Counter<RequestLabel>;
  readonly #duration: Histogram<PlaceLabel>;
  readonly #summary: GoSummary<PlaceLabel> | undefined;
  readonly #longRunning: Gauge<PlaceLabel> | undefined;
  readonly #inFlight: Gauge | undefined;

  constructor({ registry, form, clock }: RequestMetricsOptions) {
    const registers = [registry];
    const { total, duration, summary, longRunning, inFlight } = form;
    this.#form = form;
    this.#total = new Counter({ ...total, labelNames: [...total.labelNames], registers });
    this.#duration = new Histogram({
      name: duration.name,
      help: duration.help,
      labelNames: [...duration.labelNames],
      buckets: [...duration.buckets],
      registers,
    });
    if (summary !== undefined) this.#summary = new GoSummary({ ...summary, registry, clock });
    if (longRunning !== undefined) {
      const labelNames = [...longRunning.labelNames];
      this.#longRunning = new Gauge({ ...longRunning, labelNames, registers });
    }
    if (inFlight !== undefined) {
      const { name, help, label } = inFlight;
      this.#inFlight = new Gauge({ name, help, labelNames: [label], registers });
    }
  }

  began(served: ServedRequest): void {
    this.#countInFlight(served, 1);
  }

  finished(served: ServedRequest, { code, elapsedMs, contentType }: RequestOutcome): void {
    const { total, duration, summary } = this.#form;
    const labels: Record<RequestLabel, string> = {
      ...this.#place(served),
      code: String(code),
      client: served.request.headers["user-agent"] ?? "",
      contentType,
    };
    this.#total.inc(picked(labels, total.labelNames));
    const time = (elapsedMs / 1000) * duration.unitsPerSecond;
    this.#duration.observe(picked(labels, duration.labelNames), time);
    this.#summary?.record(picked(labels, summary?.labelNames ?? []), time);
    if (served.route !== undefined) this.#countInFlight(served, -1);
  }

  #countInFlight(served: ServedRequest, change: 1 | -1): void {
    const { longRunning, inFlight } = this.#form;
    if (isLongRunning(served.route)) {
      const labels = picked(this.#place(served), longRunning?.labelNames ?? []);
      this.#longRunning?.inc(labels, change);
    } else if (inFlight !== undefined) {
      const { method } = served.request;
      const isReading = method === "GET" || method === "HEAD";
      this.#inFlight?.inc({ [inFlight.label]: isReading ? "readOnly" : "mutating" }, change);
    }
  }

  /** Where the request goes; paths outside the API have no resource. */
  #place({ request, route }: ServedRequest): Record<PlaceLabel, string> {
    const isResource = route?.type === "resource";
    return {
      verb: isResource ? verbLabels[route.verb] : request.method,
      dry_run: isResource ? (route.query.get("dryRun") ?? "") : "",
      group: isResource ? route.kind.group : "",
      version: isResource ? route.kind.version : "",
      resource: isResource ? route.kind.resource : "",
      subresource: isResource ? (route.subresource ?? "") : "",
      scope: scopeOf(route, this.#form.scope),
      component: "apiserver",
    };
  }
}

const verbLabels: Readonly<Record<ResourceRoute["verb"], string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
};

function scopeOf(route: Route | undefined, form: RequestMetricsForm["scope"]): string {
  if (route?.type !== "resource") return "";
  if (form === "by-name" && route.name !== undefined) return "resource";
  return route.namespace === undefined ? "cluster" : "namespace";
}

function picked<Label extends string>(
  labels: Readonly<Record<Label, string>>,
  names: readonly Label[],
): LabelValues<Label> {
  const values: LabelValues<Label> = {};
  for (const name of names) values[name] = labels[name];
  return values;
}

// The names of the request metrics in each version:
// staging/src/k8s.io/apiserver/pkg/endpoints/metrics/ metrics.go of 1.7, 1.9, 1.17 and 1.33. Names
// that were deprecated in 1.14 are hidden in 1.17 already, so no version here has both the old and
// the new names.

type PlaceLabel =
  | "verb"
  | "dry_run"
  | "group"
  | "version"
  | "resource"
  | "subresource"
  | "scope"
  | "component";

type RequestLabel = PlaceLabel | "client" | "contentType" | "code";

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
