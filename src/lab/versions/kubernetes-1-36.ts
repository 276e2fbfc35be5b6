// Kubernetes 1.36.0: as 1.33, except for the fields here. Unless noted otherwise read in 1.36.0
// pkg/controller/endpoint/endpoints_controller.go.
import { structured } from "../../components/klog.ts";
import { structuredFailures } from "../controllers/klog/failure-lines.ts";
import { failed136 } from "./election-format.ts";
import { kubernetes133 } from "./kubernetes-1-33.ts";
import type { Profile } from "./profile.ts";

export const kubernetes136: Profile = {
  ...kubernetes133,
  name: "1.36",
  gitVersion: "v1.36.0",
  gitCommit: "ecf6dec",
  endpoints: {
    ...kubernetes133.endpoints,
    // 1.35+: pkg/api/v1/endpoints/util.go hashObject.
    hash: "fnv-128a",
    // 1.35+: syncService, because objects of older versions are in another order (issue 129652).
    repacksPublished: true,
    startSource: "endpoints_controller.go:193",
    failures: structuredFailures({
      logger: "endpoints-controller",
      key: "service",
      file: "endpoints_controller.go",
      retrying: { line: 324, message: "Error syncing endpoints, retrying", verbosity: 2 },
      dropped: { line: 329, message: "Dropping service out of the queue" },
      handledLine: 331,
    }),
  },
  endpointSlices: {
    // 1.35+: staging/src/k8s.io/endpointslice/util/controller_utils.go deepHashObjectToString.
    hash: "fnv-128a",
    // staging/src/k8s.io/endpointslice/reconciler.go validTrafficDistribution.
    trafficDistributions: ["PreferClose", "PreferSameZone", "PreferSameNode"],
    failures: structuredFailures({
      logger: "endpointslice-controller",
      key: "key",
      file: "endpointslice_controller.go",
      retrying: {
        line: 358,
        message: "Error syncing endpoint slices for service, retrying",
        verbosity: 0,
      },
      dropped: { line: 363, message: "Retry budget exceeded, dropping service out of the queue" },
      handledLine: 365,
    }),
    skippedSource: "reconciler.go:223",
  },
  sliceMirroring: {
    hash: "fnv-128a",
    failures: structuredFailures({
      logger: "endpointslice-mirroring-controller",
      key: "key",
      file: "endpointslicemirroring_controller.go",
      retrying: {
        line: 278,
        message: "Error mirroring EndpointSlices for Endpoints, retrying",
        verbosity: 0,
      },
      dropped: { line: 283, message: "Retry budget exceeded, dropping Endpoints out of the queue" },
      handledLine: 285,
    }),
  },
  formats: {
    ...kubernetes133.formats,
    lines: {
      ...kubernetes133.formats.lines,
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
  },
  election: {
    ...kubernetes133.election,
    attempting: (lock) => ({
      line: 258,
      text: structured("Attempting to acquire leader lease...", { lock }),
    }),
    acquired: (lock) => ({ line: 272, text: structured("Successfully acquired lease", { lock }) }),
    notRenewed: (lock) => ({
      line: 304,
      text: structured("Failed to renew lease", { lock, err: "context deadline exceeded" }),
    }),
    failed: failed136,
    lost: {
      source: "controllermanager.go:413",
      severity: "E",
      text: structured("leaderelection lost/stopped", {}),
    },
  },
};
