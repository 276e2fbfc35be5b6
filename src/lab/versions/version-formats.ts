// How the components of a version show themselves: the names of their metrics and the form of their
// log lines and audit events. What they do is in the profiles; this is only how it looks. Every
// value was read in the source of the version it stands for.
import type { AuditForm } from "../../apiserver/audit/audit-log.ts";
import {
  type RequestMetricsForm,
  requestMetrics17,
  requestMetrics19,
  requestMetrics117,
  requestMetrics133,
} from "../../apiserver/http/request-metrics-forms.ts";
import type { RequestLinesForm } from "../../apiserver/journal/request-journal.ts";
import type { TraceForm } from "../../apiserver/journal/request-trace.ts";
import type { ClientMetricsForm } from "../controllers/client-metrics.ts";
import type { ProfileName } from "./profiles.ts";

export interface ComponentForm {
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

/** Where in the source the lines come from that every run begins with. */
export interface ComponentLines {
  readonly apiServerVersion: string;
  readonly apiServerServing: { readonly source: string; readonly address: string };
  readonly managerVersion: string;
  readonly controllerStarted: string;
  /** Those of the lab's controllers that a line names when it is started. */
  readonly controllers: readonly string[];
  /** 1.7 logs nothing when it starts; 1.17 from verbosity 1 on. */
  readonly schedulerVersion:
    | { readonly source: string; readonly text: string; readonly verbosity: number }
    | undefined;
}

/** listwatch/cache-metrics.ts: none of them before 1.13, of all in 1.17 only two. */
const cacheMetricsSince118 = [
  "apiserver_watch_cache_events_received_total",
  "apiserver_watch_cache_events_dispatched_total",
  "apiserver_watch_cache_initializations_total",
  "apiserver_terminated_watchers_total",
  "apiserver_watch_cache_resource_version",
  "apiserver_watch_cache_read_wait_seconds",
  "apiserver_watch_cache_consistent_read_total",
];

const cacheMetricsSince113 = [
  ...cacheMetricsSince118,
  "apiserver_watch_events_total",
  "apiserver_init_events_total",
];

/** cmd/kube-controller-manager/app/controllermanager.go NewControllerInitializers. */
const oldControllers = [
  "endpoint",
  "podgc",
  "namespace",
  "garbagecollector",
  "deployment",
  "replicaset",
];

/** cmd/kube-controller-manager/names/controller_names.go. */
const presentControllers = [
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

const kubernetes17: ComponentForm = {
  queues: "named",
  clients: "latency-by-url",
  requests: requestMetrics17,
  lacksMetrics: cacheMetricsSince113,
  traces: { source: "trace.go:61", layout: "plain", verbosity: 0 },
  requestLines: { source: "wrap.go:42", layout: "bracketed", verbosity: 2 },
  audit: "v1alpha1",
  lines: {
    apiServerVersion: "server.go:112",
    apiServerServing: { source: "serve.go:85", address: "0.0.0.0" },
    managerVersion: "controllermanager.go:108",
    controllerStarted: "controllermanager.go:448",
    controllers: [...oldControllers, "node"],
    schedulerVersion: undefined,
  },
};

const kubernetes19: ComponentForm = {
  ...kubernetes17,
  requests: requestMetrics19,
  traces: { source: "trace.go:76", layout: "numbered", verbosity: 0 },
  audit: "v1beta1",
  lines: {
    apiServerVersion: "server.go:121",
    apiServerServing: { source: "serve.go:116", address: "[::]" },
    managerVersion: "controllermanager.go:108",
    controllerStarted: "controllermanager.go:494",
    controllers: [...oldControllers, "node"],
    schedulerVersion: { source: "server.go:554", text: "Version: ", verbosity: 0 },
  },
};

const kubernetes117: ComponentForm = {
  queues: "labelled",
  clients: "duration-by-prefix",
  requests: requestMetrics117,
  lacksMetrics: cacheMetricsSince118,
  traces: { source: "trace.go:116", layout: "fields", verbosity: 0 },
  requestLines: { source: "httplog.go:90", layout: "plain", verbosity: 3 },
  audit: "v1",
  lines: {
    apiServerVersion: "server.go:150",
    apiServerServing: { source: "secure_serving.go:178", address: "[::]" },
    managerVersion: "controllermanager.go:161",
    controllerStarted: "controllermanager.go:533",
    controllers: [...oldControllers, "nodelifecycle"],
    schedulerVersion: {
      source: "server.go:169",
      text: "Starting Kubernetes Scheduler version ",
      verbosity: 1,
    },
  },
};

const kubernetes133: ComponentForm = {
  queues: "labelled",
  clients: "duration-by-host",
  requests: requestMetrics133,
  lacksMetrics: [],
  traces: { source: "trace.go:236", layout: "dated", verbosity: 2 },
  requestLines: { source: "httplog.go:134", layout: "structured", verbosity: 3 },
  audit: "v1",
  lines: {
    apiServerVersion: "server.go:147",
    apiServerServing: { source: "secure_serving.go:211", address: "[::]" },
    managerVersion: "controllermanager.go:188",
    controllerStarted: "controllermanager.go:778",
    controllers: presentControllers,
    schedulerVersion: {
      source: "server.go:171",
      text: "Starting Kubernetes Scheduler",
      verbosity: 0,
    },
  },
};

const kubernetes136: ComponentForm = {
  ...kubernetes133,
  lines: {
    ...kubernetes133.lines,
    apiServerVersion: "server.go:150",
    apiServerServing: { source: "secure_serving.go:214", address: "[::]" },
    managerVersion: "controllermanager.go:204",
    // Only from verbosity 1 on is a line written when one starts.
    controllers: [],
    schedulerVersion: {
      source: "server.go:178",
      text: "Starting Kubernetes Scheduler",
      verbosity: 0,
    },
  },
};

const forms: Readonly<Record<ProfileName, ComponentForm>> = {
  "1.7": kubernetes17,
  "1.9": kubernetes19,
  "1.17.3": kubernetes117,
  "1.17.13": {
    ...kubernetes117,
    lines: { ...kubernetes117.lines, apiServerVersion: "server.go:143" },
  },
  "1.33": kubernetes133,
  "1.36": kubernetes136,
};

export function componentForm(name: ProfileName): ComponentForm {
  return forms[name];
}
