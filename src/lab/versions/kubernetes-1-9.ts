// Kubernetes 1.9.11: reads of the cache and no resync of its own (PR 47731), but neither the
// headless label nor the trigger time, which came with 1.16 and 1.14. Unless said otherwise read in
// 1.9.11 pkg/controller/endpoint/endpoints_controller.go.
import { nodeRules19 } from "../controllers/nodes/node-rules.ts";
import { kubernetes17 } from "./kubernetes-1-7.ts";
import type { Profile } from "./profile.ts";

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
};
