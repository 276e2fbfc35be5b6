// The formats of a version: names of metrics, log lines and audit events of its components. The values
// are in the files of the versions; lists that several versions share are here.
import type { AuditForm } from "../../apiserver/audit/audit-log.ts";
import type { RequestMetricsForm } from "../../apiserver/http/request-metrics.ts";
import type { RequestLinesForm } from "../../apiserver/journal/request-journal.ts";
import type { TraceForm } from "../../apiserver/journal/request-trace.ts";
import type { ClientMetricsForm } from "../controllers/client-metrics.ts";

export interface VersionFormats {
  /** A set of metrics for each queue up to 1.13, one with a label since 1.14. */
  readonly queues: "named" | "labelled";
  readonly clients: ClientMetricsForm;
  readonly requests: RequestMetricsForm;
  /** Metrics of the watch cache that came later. */
  readonly lacksMetrics: readonly string[];
  readonly traces: TraceForm;
  readonly requestLines: RequestLinesForm;
  readonly audit: AuditForm;
  readonly lines: ComponentLines;
}

/** File and line of the log lines at the start of every run. */
export interface ComponentLines {
  readonly apiServerVersion: string;
  readonly apiServerServing: { readonly source: string; readonly address: string };
  readonly managerVersion: string;
  readonly controllerStarted: string;
  /** The controllers of the lab whose start is logged. */
  readonly controllers: readonly string[];
  /** 1.7 logs nothing when it starts; 1.17 from verbosity 1 on. */
  readonly schedulerVersion:
    | { readonly source: string; readonly text: string; readonly verbosity: number }
    | undefined;
}

/** Metrics of listwatch/cache-metrics.ts. */
export const cacheMetricsSince118 = [
  "apiserver_watch_cache_events_received_total",
  "apiserver_watch_cache_events_dispatched_total",
  "apiserver_watch_cache_initializations_total",
  "apiserver_terminated_watchers_total",
  "apiserver_watch_cache_resource_version",
  "apiserver_watch_cache_read_wait_seconds",
  "apiserver_watch_cache_consistent_read_total",
];

export const cacheMetricsSince113 = [
  ...cacheMetricsSince118,
  "apiserver_watch_events_total",
  "apiserver_init_events_total",
];

/** cmd/kube-controller-manager/app/controllermanager.go NewControllerInitializers. */
export const oldControllers = [
  "endpoint",
  "podgc",
  "namespace",
  "garbagecollector",
  "deployment",
  "replicaset",
];

/** cmd/kube-controller-manager/names/controller_names.go. */
export const presentControllers = [
  "endpoints-controller",
  "endpointslice-controller",
  "endpointslice-mirroring-controller",
  "pod-garbage-collector-controller",
  "namespace-controller",
  "garbage-collector-controller",
  "deployment-controller",
  "replicaset-controller",
  "node-lifecycle-controller",
  "taint-eviction-controller",
];
