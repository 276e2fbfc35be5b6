// The request metrics of a real API server, under their real names.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { oncePerRegistry } from "../../../kube/metrics-of-registry.ts";
import type { ResourceRoute, Route } from "./route.ts";

type PlaceLabel = "verb" | "group" | "version" | "resource" | "subresource" | "scope" | "component";

export interface RequestMetrics {
  readonly total: Counter<PlaceLabel | "code" | "dry_run">;
  readonly durationSeconds: Histogram<PlaceLabel>;
  readonly inFlight: Gauge<"request_kind">;
  readonly longRunning: Gauge<PlaceLabel>;
}

export const requestMetrics = oncePerRegistry(makeMetrics);

/** Where a request goes, as metrics label it; paths outside the API have no resource. */
export function placeLabels(method: string, route: Route | undefined): Record<PlaceLabel, string> {
  if (route?.type !== "resource") {
    return {
      verb: method,
      group: "",
      version: "",
      resource: "",
      subresource: "",
      scope: "",
      component: "apiserver",
    };
  }
  return {
    verb: verbLabels[route.verb],
    group: route.kind.group,
    version: route.kind.version,
    resource: route.kind.resource,
    subresource: route.subresource ?? "",
    scope: scopeOf(route),
    component: "apiserver",
  };
}

export function isLongRunning(route: Route | undefined): boolean {
  return route?.type === "resource" && (route.verb === "watch" || route.subresource === "log");
}

export function requestKind(method: string): "readOnly" | "mutating" {
  return method === "GET" || method === "HEAD" ? "readOnly" : "mutating";
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

function scopeOf(route: ResourceRoute): string {
  if (route.name !== undefined) {
    return "resource";
  }
  return route.namespace === undefined ? "cluster" : "namespace";
}

/** Seconds; those of the real server. */
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];

function makeMetrics(registry: Registry): RequestMetrics {
  const place: PlaceLabel[] = [
    "verb",
    "group",
    "version",
    "resource",
    "subresource",
    "scope",
    "component",
  ];
  const registers = [registry];
  return {
    total: new Counter({
      name: "apiserver_request_total",
      help: "Counter of apiserver requests broken out for each verb, resource and response code.",
      registers,
      labelNames: [...place, "code", "dry_run"],
    }),
    durationSeconds: new Histogram({
      name: "apiserver_request_duration_seconds",
      help: "Response latency distribution in seconds for each verb and resource.",
      registers,
      labelNames: place,
      buckets: durationBuckets,
    }),
    inFlight: new Gauge({
      name: "apiserver_current_inflight_requests",
      help: "Requests being served now, by kind; long-running ones are not counted.",
      registers,
      labelNames: ["request_kind"],
    }),
    longRunning: new Gauge({
      name: "apiserver_longrunning_requests",
      help: "Long-running requests (watches, logs) being served now.",
      registers,
      labelNames: place,
    }),
  };
}
