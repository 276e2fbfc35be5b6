// Kubernetes 1.33.0. Unless said otherwise read in 1.33.0
// pkg/controller/endpoint/endpoints_controller.go.
import { requestMetrics133 } from "../../apiserver/http/request-metrics.ts";
import { structured } from "../../components/klog.ts";
import { structuredFailures } from "../controllers/klog/failure-lines.ts";
import { nodeRules133 } from "../controllers/nodes/node-rules.ts";
import { acquired, failed } from "./election-format.ts";
import { kubernetes1173 } from "./kubernetes-1-17.ts";
import type { Profile } from "./profile.ts";
import { presentControllers } from "./version-formats.ts";

export const kubernetes133: Profile = {
  name: "1.33",
  gitVersion: "v1.33.0",
  gitCommit: "60a317e",
  flags: {
    // Removed in 1.27.
    lacks: ["pod-eviction-timeout"],
    defaults: {},
  },
  endpoints: {
    // syncService, checkLeftoverEndpoints: endpointsLister.
    currentFrom: "cache",
    leftoversFrom: "cache",
    serviceResyncMs: undefined,
    // staging/src/k8s.io/endpointslice/util/controller_utils.go podEndpointsChanged.
    podUpdates: "address",
    delaysPodChanges: true,
    comparison: "semantic",
    // The annotation went in 1.24.
    unreadyBy: "field",
    // 1.25+: controller_utils.go ShouldPodBeInEndpoints.
    terminalPods: "left-out",
    portlessHeadless: "no-port",
    // podToEndpointAddressForService: svc.Spec.IPFamilies[0].
    podAddress: "of-family",
    // 1.24+ neither publishes nor compares it (kubernetes issue 108077).
    publishesPodVersion: false,
    // endpointPortFromServicePort.
    publishesAppProtocol: true,
    // 1.32+ (PR 127976).
    sidecarPorts: true,
    // pkg/api/v1/endpoints/util.go.
    hash: "md5",
    repacksPublished: false,
    // 1.27+ (kubernetes issue 105986).
    skipsExternalName: true,
    triggerTime: true,
    // labelsCorrectForEndpoints leaves it out (PR 94112).
    headlessLabel: "written",
    // 1.33+: LabelManagedBy.
    managedByLabel: true,
    // 1.22+: maxCapacity, truncateEndpoints.
    capacity: 1000,
    // 1.31+, and right for PUTs that change nothing since 1.32 (issue 127370).
    staleGuard: true,
    // 1.19+: onEndpointsDelete.
    restoresDeleted: true,
    leavesEndingNamespaces: true,
    recordsFailures: true,
    maxRetries: 15,
    startSource: "endpoints_controller.go:187",
    failures: structuredFailures({
      logger: "endpoints-controller",
      key: "service",
      file: "endpoints_controller.go",
      retrying: { line: 334, message: "Error syncing endpoints, retrying", verbosity: 2 },
      dropped: { line: 339, message: "Dropping service out of the queue" },
      handledLine: 341,
    }),
  },
  endpointsPacking: undefined,
  endpointSlices: {
    // staging/src/k8s.io/endpointslice/util/controller_utils.go deepHashObjectToString.
    hash: "md5",
    // The others need PreferSameTrafficDistribution, which is off.
    trafficDistributions: ["PreferClose"],
    failures: structuredFailures({
      logger: "endpointslice-controller",
      key: "key",
      file: "endpointslice_controller.go",
      retrying: {
        line: 344,
        message: "Error syncing endpoint slices for service, retrying",
        verbosity: 0,
      },
      dropped: { line: 349, message: "Retry budget exceeded, dropping service out of the queue" },
      handledLine: 351,
    }),
    skippedSource: "reconciler.go:227",
  },
  sliceMirroring: {
    hash: "md5",
    failures: structuredFailures({
      logger: "endpointslice-mirroring-controller",
      key: "key",
      file: "endpointslicemirroring_controller.go",
      retrying: {
        line: 271,
        message: "Error mirroring EndpointSlices for Endpoints, retrying",
        verbosity: 0,
      },
      dropped: { line: 276, message: "Retry budget exceeded, dropping Endpoints out of the queue" },
      handledLine: 278,
    }),
  },
  // client-go 1.33 rest/request.go tryThrottleWithInfo.
  throttling: {
    format: "structured",
    verbosity: 3,
    source: "request.go:683",
    sampledSource: "request.go:752",
  },
  // client-go 1.33 tools/record/event.go.
  events: {
    lines: { sentence: "event.go:377", structured: "event.go:389" },
    limits: true,
    namesReporter: true,
    handWritten: { apiVersion: "v1" },
    workloadVersion: "apps/v1",
    namesOldSize: true,
    taintComponent: "taint-eviction-controller",
    nodeComponent: "node-controller",
  },
  // cmd/kube-controller-manager/app/core.go startNamespaceController, startGarbageCollectorController.
  clientFactors: { namespace: { qps: 20, burst: 100 }, garbage: { qps: 2, burst: 1 } },
  logs: "structured",
  nodes: nodeRules133,
  formats: {
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
  },
  election: {
    identity: "host-and-uuid",
    waitsFor: "recorded duration",
    renewsUnread: true,
    attempting: (lock) => ({ line: 257, text: `attempting to acquire leader lease ${lock}...` }),
    acquired: acquired(271),
    notRenewed: (lock) => ({
      line: 297,
      text: `failed to renew lease ${lock}: context deadline exceeded`,
    }),
    failed: failed({ read: 436, create: 440, update: 472, "unread update": 429 }),
    lost: {
      source: "controllermanager.go:340",
      severity: "E",
      text: structured("leaderelection lost", {}),
    },
    hasGauge: true,
  },
  // pkg/controlplane/reconcilers and controller/kubernetesservice of 1.33.0; 1.36.0 has the same.
  kubernetesService: {
    ...kubernetes1173.kubernetesService,
    skipMirrorLabel: true,
    printed: "v1",
    // doReconcile: the last server may leave nothing when it stops.
    keepsLastAddress: false,
    noLeases:
      "no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service",
    // RunWithContext in pkg/server/genericapiserver.go of k8s.io/apiserver 0.33.0 and 0.36.0: no request
    // is refused before the hooks are done (NotAcceptingNewRequest waits for PreShutdownHooksStopped).
    stopOrder: "service-first",
    staleRemoval: {
      source: { found: "controller.go:95", failed: "controller.go:97" },
      found:
        "Found stale data, removed previous endpoints on kubernetes service, apiserver didn't exit successfully previously",
      failed: "Error removing old endpoints from kubernetes service: ",
      ignoresMissing: true,
    },
    removalFailedPrefix: "Unable to remove endpoints from kubernetes service: ",
    quotesUrls: true,
    sources: {
      remade: "instancecount.go:103",
      masterCount: "instancecount.go:140",
      lease: "lease.go:265",
      failed: "controller.go:163",
      stopping: "controller.go:128",
      removalFailed: "controller.go:131",
    },
  },
};
