// Kubernetes 1.33.0. Unless said otherwise read in 1.33.0
// pkg/controller/endpoint/endpoints_controller.go.
import { structuredFailures } from "../controllers/klog/failure-lines.ts";
import { nodeRules133 } from "../controllers/nodes/node-rules.ts";
import type { Profile } from "./profile.ts";

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
};
