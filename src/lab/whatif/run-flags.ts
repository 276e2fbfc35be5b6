// The settings of a question as flags of kube-controller-manager with their real names: a run is started
// with them, and the output prints them to copy.
import { type ControllerFlags, controllerFlags, withoutKubelets } from "../controllers/flags.ts";
import { type ProfileName, profileNamed } from "../versions/profiles.ts";
import type { FlagSettings, Settings } from "./question.ts";

type NumberFlag = {
  [Name in keyof ControllerFlags]: ControllerFlags[Name] extends number ? Name : never;
}[keyof ControllerFlags];

/** The flag of each setting; a second one is set to the same value in versions with EndpointSlices. */
const flagsOf: Readonly<Record<keyof FlagSettings, readonly [NumberFlag, NumberFlag?]>> = {
  qps: ["kube-api-qps"],
  burst: ["kube-api-burst"],
  workers: ["concurrent-endpoint-syncs", "concurrent-service-endpoint-syncs"],
  resyncMs: ["min-resync-period"],
  batchMs: ["endpoint-updates-batch-period", "endpointslice-updates-batch-period"],
  graceMs: ["node-monitor-grace-period"],
};

const flagEntries = Object.entries(flagsOf) as [keyof FlagSettings, (typeof flagsOf)["qps"]][];

export function defaultSettings(version: ProfileName): FlagSettings {
  const flags = controllerFlags(profileNamed(version));
  const defaults = flagEntries.map(([setting, [flag]]) => [setting, flags[flag]]);
  return Object.fromEntries(defaults) as FlagSettings;
}

/** The flags that exist and have an effect in the version. */
export function settingFlags(settings: Settings): Partial<ControllerFlags> {
  const { endpointSlices } = profileNamed(settings.version);
  const values = flagEntries.flatMap(([setting, [flag, sliceFlag]]) => [
    [flag, settings[setting]],
    ...(sliceFlag && endpointSlices ? [[sliceFlag, settings[setting]]] : []),
  ]);
  return known(settings.version, Object.fromEntries(values));
}

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
