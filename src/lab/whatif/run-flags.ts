// The settings of a question as flags of kube-controller-manager with their real names: a run is started
// with them, and the output prints them to copy.
import type { ControllerFlags } from "../controllers/flags.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";
import type { Settings } from "./question.ts";

/** The flags that exist and have an effect in the version. */
export function settingFlags(settings: Settings): Partial<ControllerFlags> {
  const { endpointSlices } = profileNamed(settings.version);
  return known(settings.version, {
    "kube-api-qps": settings.qps,
    "kube-api-burst": settings.burst,
    "concurrent-endpoint-syncs": settings.workers,
    ...(endpointSlices ? { "concurrent-service-endpoint-syncs": settings.workers } : {}),
    "min-resync-period": settings.resyncMs,
    "endpoint-updates-batch-period": settings.batchMs,
    ...(endpointSlices ? { "endpointslice-updates-batch-period": settings.batchMs } : {}),
    "node-monitor-grace-period": settings.graceMs,
  });
}

/** Longer than any run. */
const nodesBelievedMs = 1_000 * 3_600_000;

/** There are no kubelets, so silent nodes are never marked as lost. */
const withoutKubelets: Partial<ControllerFlags> = {
  "node-monitor-grace-period": nodesBelievedMs,
  "node-startup-grace-period": nodesBelievedMs,
};

/** For a run that times the publishing of changes. */
export function runFlags(settings: Settings, resyncMs: number): Partial<ControllerFlags> {
  return known(settings.version, {
    ...settingFlags(settings),
    ...withoutKubelets,
    "min-resync-period": resyncMs,
  });
}

const unlimited = 1_000_000;
const manyWorkers = 50;

/** For creating a cluster, which is no part of the question. */
export function unlimitedFlags(version: ProfileName): Partial<ControllerFlags> {
  return known(version, {
    ...withoutKubelets,
    "kube-api-qps": unlimited,
    "kube-api-burst": unlimited,
    "concurrent-endpoint-syncs": manyWorkers,
    "concurrent-service-endpoint-syncs": manyWorkers,
  });
}

function known(version: ProfileName, flags: Partial<ControllerFlags>): Partial<ControllerFlags> {
  const { lacks } = profileNamed(version).flags;
  return Object.fromEntries(
    Object.entries(flags).filter(([name]) => !lacks.some((lacking) => lacking === name)),
  );
}
