// Kubernetes 1.9.11: reads of the cache and no resync of its own (PR 47731), but neither the
// headless label nor the trigger time, which came with 1.16 and 1.14. Unless said otherwise read in
// 1.9.11 pkg/controller/endpoint/endpoints_controller.go.
import { requestMetrics19 } from "../../apiserver/http/request-metrics.ts";
import { nodeRules19 } from "../controllers/nodes/node-rules.ts";
import { acquired, failed } from "./election-format.ts";
import { kubernetes17 } from "./kubernetes-1-7.ts";
import type { Profile } from "./profile.ts";
import { oldControllers } from "./version-formats.ts";

export const kubernetes19: Profile = {
  name: "1.9",
  gitVersion: "v1.9.11",
  gitCommit: "1bfeeb6",
  // cmd/kube-controller-manager/app/options/options.go, pkg/client/leaderelectionconfig/config.go.
  flags: kubernetes17.flags,
  endpoints: {
    // syncService: endpointsLister.
    currentFrom: "cache",
    // checkLeftoverEndpoints: endpointsLister.
    leftoversFrom: "cache",
    // NewEndpointController: AddEventHandler without a period.
    serviceResyncMs: undefined,
    // podChanged compares podToEndpointAddress, which has the node's name.
    podUpdates: "address-or-node",
    delaysPodChanges: false,
    // syncService: apiequality.Semantic.DeepEqual.
    comparison: "semantic",
    unreadyBy: "annotation",
    // shouldPodBeInEndpoints, since 1.8.
    terminalPods: "by-restart-policy",
    // syncService: EndpointPort{Port: 0}, which a server refuses.
    portlessHeadless: "port-zero",
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
    maxRetries: 15,
    startSource: "endpoints_controller.go:153",
    failures: {
      retrying: {
        severity: "I",
        source: "endpoints_controller.go:375",
        verbosity: 2,
        text: (key, error) => `Error syncing endpoints for service "${key}": ${error}`,
      },
      dropped: [
        {
          severity: "W",
          source: "endpoints_controller.go:380",
          verbosity: 0,
          text: (key, error) => `Dropping service "${key}" out of the queue: ${error}`,
        },
        {
          severity: "E",
          source: "endpoints_controller.go:382",
          verbosity: 0,
          text: (_, error) => error,
        },
      ],
    },
  },
  // pkg/api/endpoints/util.go, of pkg/apis/core by now.
  endpointsPacking: {
    types: { package: "core", appProtocol: false, hash: "md5" },
    keepsPortless: false,
  },
  endpointSlices: undefined,
  sliceMirroring: undefined,
  // staging/src/k8s.io/client-go/rest/request.go tryThrottle: glog.V(4).
  throttling: {
    format: "took",
    verbosity: 4,
    source: "request.go:480",
    sampledSource: undefined,
  },
  // tools/record/events_cache.go limits since 1.9.
  events: {
    ...kubernetes17.events,
    limits: true,
    taintComponent: "taint-controller",
    nodeComponent: "node-controller",
  },
  clientFactors: kubernetes17.clientFactors,
  logs: "sentences",
  nodes: nodeRules19,
  formats: {
    ...kubernetes17.formats,
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
  },
  election: {
    ...kubernetes17.election,
    attempting: () => ({ line: 174, text: "attempting to acquire leader lease..." }),
    acquired: acquired(184),
    notRenewed: (lock) => ({
      line: 203,
      text: `failed to renew lease ${lock}: timed out waiting for the condition`,
    }),
    failed: failed({ read: 224, create: 228, update: 258, "unread update": 258 }),
    lost: { source: "controllermanager.go:194", severity: "F", text: "leaderelection lost" },
  },
  // pkg/master/reconcilers/{mastercount,lease}.go and pkg/master/controller.go of 1.9.11.
  kubernetesService: {
    ...kubernetes17.kubernetesService,
    sources: {
      remade: "mastercount.go:99",
      masterCount: "mastercount.go:135",
      lease: "lease.go:223",
      failed: "controller.go:190",
      stopping: "controller.go:156",
      removalFailed: "controller.go:158",
    },
  },
};
