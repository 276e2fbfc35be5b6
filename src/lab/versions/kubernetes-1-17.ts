// Kubernetes 1.17 before and after the end of its headless bug: 1.16 began to write a label that the
// service does not have and went on comparing with the service's labels, so every sync of a headless
// service wrote it again; 1.17.13 compares without it (PR 94112). With that its API server ceased to
// sort the subsets again, in an order that was not the controller's. Nothing else differs. Unless
// said otherwise read in 1.17.3 pkg/controller/endpoint/endpoints_controller.go.
import { requestMetrics117 } from "../../apiserver/http/request-metrics.ts";
import { nodeRules117 } from "../controllers/nodes/node-rules.ts";
import { noLeasesOld } from "../kubernetes-service/kubernetes-service-rules.ts";
import { acquired, failed } from "./election-format.ts";
import type { EndpointsRules, Profile } from "./profile.ts";
import { cacheMetricsSince118, oldControllers } from "./version-formats.ts";

const endpoints: EndpointsRules = {
  // syncService, checkLeftoverEndpoints: endpointsLister.
  currentFrom: "cache",
  leftoversFrom: "cache",
  serviceResyncMs: undefined,
  // endpointChanged compares podToEndpointAddress, which has the node's name.
  podUpdates: "address-or-node",
  // addPod, updatePod: queue.AddAfter, since 1.16.
  delaysPodChanges: true,
  // syncService: apiequality.Semantic.DeepEqual, of the pods' versions too.
  comparison: "semantic",
  // syncService: the annotation overrides the field.
  unreadyBy: "annotation-or-field",
  // shouldPodBeInEndpoints.
  terminalPods: "by-restart-policy",
  // addEndpointSubset with a nil port, since 1.11.
  portlessHeadless: "no-port",
  // podToEndpointAddressForService: pod.Status.PodIP unless IPv6DualStack, alpha, is on.
  podAddress: "first",
  publishesPodVersion: true,
  publishesAppProtocol: false,
  sidecarPorts: false,
  hash: "md5",
  repacksPublished: false,
  skipsExternalName: false,
  // pkg/controller/util/endpoint/trigger_time_tracker.go.
  triggerTime: true,
  // syncService: CloneAndAddLabel(IsHeadlessService), and DeepEqual(currentEndpoints.Labels).
  headlessLabel: "written-and-compared",
  managedByLabel: false,
  capacity: undefined,
  staleGuard: false,
  // Since 1.19.
  restoresDeleted: false,
  // syncService: HasStatusCause(NamespaceTerminatingCause).
  leavesEndingNamespaces: true,
  // syncService: FailedToCreateEndpoint, FailedToUpdateEndpoint.
  recordsFailures: true,
  maxRetries: 15,
  startSource: "endpoints_controller.go:181",
  failures: {
    retrying: {
      severity: "I",
      source: "endpoints_controller.go:340",
      verbosity: 2,
      text: (key, error) =>
        `Error syncing endpoints for service "${key}", retrying. Error: ${error}`,
    },
    dropped: [
      {
        severity: "W",
        source: "endpoints_controller.go:345",
        verbosity: 0,
        text: (key, error) => `Dropping service "${key}" out of the queue: ${error}`,
      },
      {
        severity: "E",
        source: "endpoints_controller.go:347",
        verbosity: 0,
        text: (_, error) => error,
      },
    ],
  },
};

export const kubernetes1173: Profile = {
  name: "1.17.3",
  gitVersion: "v1.17.3",
  gitCommit: "06ad960",
  flags: {
    // cmd/kube-controller-manager/app/options/endpointslicecontroller.go and beside it.
    lacks: [
      "endpointslice-updates-batch-period",
      "mirroring-concurrent-service-endpoint-syncs",
      "mirroring-max-endpoints-per-subset",
      "mirroring-endpointslice-updates-batch-period",
    ],
    defaults: {
      // pkg/controller/nodelifecycle/config/v1alpha1/defaults.go.
      "node-monitor-grace-period": 40_000,
      // pkg/controller/apis/config/v1alpha1/defaults.go.
      "leader-elect-resource-lock": "endpointsleases",
    },
  },
  endpoints,
  // pkg/registry/core/endpoint/strategy.go Canonicalize.
  endpointsPacking: {
    types: { package: "core", appProtocol: false, hash: "md5" },
    keepsPortless: true,
  },
  // pkg/features/kube_features.go: EndpointSlice is off by default until 1.18.
  endpointSlices: undefined,
  // Since 1.19.
  sliceMirroring: undefined,
  // staging/src/k8s.io/client-go/rest/request.go tryThrottle: klog.V(4).
  throttling: {
    format: "took",
    verbosity: 4,
    source: "request.go:565",
    sampledSource: undefined,
  },
  // staging/src/k8s.io/client-go/tools/record/event.go.
  events: {
    lines: { sentence: "event.go:281", structured: undefined },
    limits: true,
    namesReporter: false,
    // pkg/controller/util/node/controller_utils.go RecordNodeEvent names none.
    handWritten: {},
    workloadVersion: "apps/v1",
    namesOldSize: false,
    taintComponent: "taint-controller",
    nodeComponent: "node-controller",
  },
  // cmd/kube-controller-manager/app/core.go startNamespaceController.
  clientFactors: { namespace: { qps: 20, burst: 100 }, garbage: { qps: 1, burst: 1 } },
  logs: "sentences",
  nodes: nodeRules117,
  formats: {
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
  },
  election: {
    identity: "host-and-uuid",
    waitsFor: "own duration",
    renewsUnread: false,
    attempting: (lock) => ({ line: 242, text: `attempting to acquire leader lease  ${lock}...` }),
    acquired: acquired(252),
    notRenewed: (lock) => ({
      line: 288,
      text: `failed to renew lease ${lock}: failed to tryAcquireOrRenew context deadline exceeded`,
    }),
    failed: failed({ read: 331, create: 335, update: 367, "unread update": 367 }),
    lost: { source: "controllermanager.go:279", severity: "F", text: "leaderelection lost" },
    hasGauge: true,
  },
  // pkg/master/reconcilers and pkg/master/controller.go of 1.17.3; 1.17.13 has the same lines.
  kubernetesService: {
    // cmd/kube-apiserver/app/options/options.go; the default since 1.11.
    defaultType: "lease",
    // RunKubernetesService: wait.NonSlidingUntil.
    spacing: "fixed",
    firstSetsPorts: false,
    // 1.19+.
    skipMirrorLabel: false,
    printed: "v1-1.17",
    keepsLastAddress: true,
    noLeases: noLeasesOld,
    // preparedGenericAPIServer.Run in pkg/server/genericapiserver.go of k8s.io/apiserver 0.17.3: one
    // channel ends the listener and lets the hooks run, as --shutdown-delay-duration is 0.
    stopOrder: "listener-first",
    staleRemoval: {
      source: { found: "", failed: "controller.go:151" },
      found: undefined,
      failed: "Unable to remove old endpoints from kubernetes service: ",
      ignoresMissing: false,
    },
    removalFailedPrefix: "",
    quotesUrls: false,
    sources: {
      remade: "mastercount.go:98",
      masterCount: "mastercount.go:134",
      lease: "lease.go:224",
      failed: "controller.go:222",
      stopping: "controller.go:180",
      removalFailed: "controller.go:183",
    },
  },
};

export const kubernetes11713: Profile = {
  ...kubernetes1173,
  name: "1.17.13",
  gitVersion: "v1.17.13",
  gitCommit: "30d651d",
  endpoints: {
    ...endpoints,
    // 1.17.13 syncService: compareLabels.
    headlessLabel: "written",
  },
  // strategy.go Canonicalize does nothing any more.
  endpointsPacking: undefined,
  formats: {
    ...kubernetes1173.formats,
    lines: { ...kubernetes1173.formats.lines, apiServerVersion: "server.go:143" },
  },
};
