// Kubernetes 1.7.11: the last whose Endpoints controller asked the server for every object at every
// sync and went over every service each 30 s (1.7.12 reads its cache, 1.8 ends the 30 s). Unless
// said otherwise read in 1.7.11 pkg/controller/endpoint/endpoints_controller.go.
import { requestMetrics17 } from "../../apiserver/http/request-metrics.ts";
import { nodeRules17 } from "../controllers/nodes/node-rules.ts";
import { noLeasesOld } from "../kubernetes-service/kubernetes-service-rules.ts";
import { acquired, failed } from "./election-format.ts";
import type { Profile } from "./profile.ts";
import { cacheMetricsSince113, oldControllers } from "./version-formats.ts";

export const kubernetes17: Profile = {
  name: "1.7",
  gitVersion: "v1.7.11",
  gitCommit: "b13f2fd",
  flags: {
    // cmd/kube-controller-manager/app/options/options.go.
    lacks: [
      "concurrent-service-endpoint-syncs",
      "max-endpoints-per-slice",
      "endpoint-updates-batch-period",
      "endpointslice-updates-batch-period",
      "mirroring-concurrent-service-endpoint-syncs",
      "mirroring-max-endpoints-per-subset",
      "mirroring-endpointslice-updates-batch-period",
    ],
    defaults: {
      "node-monitor-grace-period": 40_000,
      // pkg/client/leaderelection/leaderelection.go DefaultLeaderElectionConfiguration.
      "leader-elect-resource-lock": "endpoints",
    },
  },
  endpoints: {
    // syncService: Endpoints(service.Namespace).Get(service.Name).
    currentFrom: "live-get",
    // checkLeftoverEndpoints: Endpoints(NamespaceAll).List.
    leftoversFrom: "live-list",
    // FullServiceResyncPeriod.
    serviceResyncMs: 30_000,
    // updatePod: only equal resource versions are passed over.
    podUpdates: "any",
    // addPod, updatePod: queue.Add.
    delaysPodChanges: false,
    // syncService: reflect.DeepEqual.
    comparison: "strict",
    // syncService: TolerateUnreadyEndpointsAnnotation alone.
    unreadyBy: "annotation",
    // syncService does not look at the phase.
    terminalPods: "listed",
    // syncService: it goes over the service's ports, and there are none.
    portlessHeadless: "nothing",
    // syncService: pod.Status.PodIP.
    podAddress: "first",
    publishesPodVersion: true,
    publishesAppProtocol: false,
    sidecarPorts: false,
    hash: "md5",
    repacksPublished: false,
    skipsExternalName: false,
    triggerTime: false,
    headlessLabel: "absent",
    managedByLabel: false,
    capacity: undefined,
    staleGuard: false,
    restoresDeleted: false,
    leavesEndingNamespaces: false,
    recordsFailures: false,
    // processNextWorkItem: it tries again without end.
    maxRetries: Number.POSITIVE_INFINITY,
    startSource: "endpoints_controller.go:136",
    failures: {
      retrying: {
        severity: "E",
        source: "endpoints_controller.go:277",
        verbosity: 0,
        text: (key, error) => `Sync ${key} failed with ${error}`,
      },
      dropped: [],
    },
  },
  // pkg/registry/core/endpoint/strategy.go, pkg/api/endpoints/util.go.
  endpointsPacking: {
    types: { package: "api", appProtocol: false, hash: "md5" },
    keepsPortless: false,
  },
  // Alpha in 1.16.
  endpointSlices: undefined,
  sliceMirroring: undefined,
  // staging/src/k8s.io/client-go/rest/request.go tryThrottle: glog.V(4).
  throttling: {
    format: "took",
    verbosity: 4,
    source: "request.go:638",
    sampledSource: undefined,
  },
  // staging/src/k8s.io/client-go/tools/record/event.go; pkg/api/v1/ref/ref.go takes the group for
  // the version.
  events: {
    lines: { sentence: "event.go:218", structured: undefined },
    limits: false,
    namesReporter: false,
    handWritten: {},
    workloadVersion: "extensions",
    namesOldSize: false,
    taintComponent: "controllermanager",
    nodeComponent: "controllermanager",
  },
  // cmd/kube-controller-manager/app/core.go startNamespaceController.
  clientFactors: { namespace: { qps: 10, burst: 10 }, garbage: { qps: 1, burst: 1 } },
  logs: "sentences",
  nodes: nodeRules17,
  formats: {
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
  },
  election: {
    identity: "host",
    waitsFor: "own duration",
    renewsUnread: false,
    attempting: () => ({ line: 179, text: "attempting to acquire leader lease..." }),
    acquired: acquired(189),
    notRenewed: (lock) => ({ line: 208, text: `failed to renew lease ${lock}` }),
    failed: failed({ read: 229, create: 233, update: 263, "unread update": 263 }),
    lost: { source: "controllermanager.go:220", severity: "F", text: "leaderelection lost" },
    hasGauge: false,
  },
  // pkg/master/controller.go of 1.7, before the reconcilers had files of their own.
  kubernetesService: {
    defaultType: "master-count",
    // RunKubernetesService: wait.Until.
    spacing: "after-work",
    // Start: UpdateKubernetesService(true).
    firstSetsPorts: true,
    skipMirrorLabel: false,
    printed: "internal",
    keepsLastAddress: true,
    noLeases: noLeasesOld,
    // It has no hook before the shutdown.
    stopOrder: "listener-first",
    staleRemoval: undefined,
    removalFailedPrefix: "",
    quotesUrls: false,
    sources: {
      remade: "controller.go:350",
      masterCount: "controller.go:386",
      // 1.9 brought the lease reconciler; before, there is only the count.
      lease: "controller.go:386",
      failed: "controller.go:162",
      stopping: undefined,
      removalFailed: "controller.go:141",
    },
  },
};
