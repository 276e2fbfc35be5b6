// Kubernetes 1.7.11: the last whose Endpoints controller asked the server for every object at every
// sync and went over every service each 30 s (1.7.12 reads its cache, 1.8 ends the 30 s). Unless
// said otherwise read in 1.7.11 pkg/controller/endpoint/endpoints_controller.go.
import { nodeRules17 } from "../controllers/nodes/node-rules.ts";
import type { Profile } from "./profile.ts";

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
};
