// What differs between versions of the controllers, as data: the code asks a profile and never a
// version number. Every value says in which Kubernetes source it was read. Bugs that a version had
// are part of its profile.

export type ProfileName = "1.33" | "1.7";

export interface EndpointsRules {
  /** Where a sync reads the object it compares with: a live GET costs a token of the client's. */
  readonly currentFrom: "cache" | "live-get";
  /** Every service is enqueued this often, beside the resync of all informers. */
  readonly serviceResyncMs: number | undefined;
  /** Whether every new version of a pod enqueues its services, or only changes that matter. */
  readonly podUpdates: "any" | "relevant";
  /** `strict` takes an empty list and an absent one for different. */
  readonly comparison: "strict" | "semantic";
  /** What becomes of pods whose phase is Failed or Succeeded. */
  readonly terminalPods: "left-out" | "by-restart-policy";
  /** A headless service without ports still gets its addresses. */
  readonly portlessHeadless: boolean;
  readonly publishesPodVersion: boolean;
  readonly skipsExternalName: boolean;
  readonly triggerTime: boolean;
  readonly headlessLabel: boolean;
  readonly managedByLabel: boolean;
  /** Addresses of one object, the rest is cut off; undefined for no limit. */
  readonly capacity: number | undefined;
  /** An object whose replaced version is still in the cache is tried again later. */
  readonly staleGuard: boolean;
  /** A deleted Endpoints object of a living service is made again at once. */
  readonly restoresDeleted: boolean;
  /** Retries of a failing key before it is dropped. */
  readonly maxRetries: number;
}

export interface ThrottlingLines {
  readonly format: "took" | "structured";
  /** Verbosity at which every wait over 50 ms is logged. */
  readonly verbosity: number;
  /** Waits over a second are also logged at lower verbosity, but only now and then. */
  readonly samplesLongWaits: boolean;
  /** Where in client-go the line says it comes from. */
  readonly source: string;
}

export interface Profile {
  readonly name: ProfileName;
  readonly gitVersion: string;
  readonly endpoints: EndpointsRules;
  readonly endpointSlices: boolean;
  readonly throttling: ThrottlingLines;
  /** Sentences, or since 1.19 and everywhere by now a message with keys and values. */
  readonly logs: "sentences" | "structured";
}

const profiles: Readonly<Record<ProfileName, Profile>> = {
  "1.33": {
    name: "1.33",
    gitVersion: "v1.33.0",
    endpoints: {
      // 1.8+ reads the cache: pkg/controller/endpoint/endpoints_controller.go syncService.
      currentFrom: "cache",
      // 1.8+ removed the service resync of its own (kubernetes PR 47731).
      serviceResyncMs: undefined,
      // staging/src/k8s.io/endpointslice/util/controller_utils.go GetServicesToUpdateOnPodChange.
      podUpdates: "relevant",
      comparison: "semantic",
      // 1.25+: controller_utils.go ShouldPodBeInEndpoints.
      terminalPods: "left-out",
      portlessHeadless: true,
      // 1.24+ neither publishes nor compares it (kubernetes issue 108077).
      publishesPodVersion: false,
      // 1.27+ (kubernetes issue 105986).
      skipsExternalName: true,
      triggerTime: true,
      // 1.16+, compared correctly since 1.17.13, 1.18.10, 1.19.3 and 1.20 (PR 94112).
      headlessLabel: true,
      // 1.33+: endpoints_controller.go LabelManagedBy.
      managedByLabel: true,
      // 1.22+: endpoints_controller.go maxCapacity, truncateEndpoints.
      capacity: 1000,
      // 1.31+, and right for PUTs that change nothing since 1.32 (issue 127370).
      staleGuard: true,
      // 1.19+: endpoints_controller.go onEndpointsDelete.
      restoresDeleted: true,
      // endpoints_controller.go maxRetries.
      maxRetries: 15,
    },
    endpointSlices: true,
    // client-go 1.33 rest/request.go tryThrottleWithInfo.
    throttling: {
      format: "structured",
      verbosity: 3,
      samplesLongWaits: true,
      source: "request.go:752",
    },
    logs: "structured",
  },
  "1.7": {
    name: "1.7",
    gitVersion: "v1.7.16",
    endpoints: {
      // 1.7 pkg/controller/endpoint/endpoints_controller.go syncService: Endpoints(ns).Get(name).
      currentFrom: "live-get",
      // 1.7 endpoints_controller.go FullServiceResyncPeriod.
      serviceResyncMs: 30_000,
      // 1.7 endpoints_controller.go updatePod: only equal resource versions are passed over.
      podUpdates: "any",
      // 1.7 endpoints_controller.go syncService: reflect.DeepEqual.
      comparison: "strict",
      // Before 1.25: shouldPodBeInEndpoints.
      terminalPods: "by-restart-policy",
      portlessHeadless: false,
      publishesPodVersion: true,
      skipsExternalName: false,
      triggerTime: false,
      headlessLabel: false,
      managedByLabel: false,
      capacity: undefined,
      staleGuard: false,
      restoresDeleted: false,
      // 1.7 endpoints_controller.go processNextWorkItem: it tries again without end.
      maxRetries: Number.POSITIVE_INFINITY,
    },
    // Alpha in 1.16.
    endpointSlices: false,
    // 1.7 staging/src/k8s.io/client-go/rest/request.go tryThrottle: glog.V(4).
    throttling: {
      format: "took",
      verbosity: 4,
      samplesLongWaits: false,
      source: "request.go:638",
    },
    logs: "sentences",
  },
};

export function profileNamed(name: ProfileName): Profile {
  return profiles[name];
}
