// Settings of the whole controller: its ConfigMap, its flags, and the ConfigMaps with TCP and UDP
// services.
import {
  type CheckedSetting,
  checkedSettings,
  type LockstepSettings,
} from "./controller-settings.ts";
import type { ConfigMap, FoundObjects } from "./found-objects.ts";
import type { IngressNginx } from "./ingress-nginx.ts";

export interface ControllerReport {
  /** The controllers that were found. */
  readonly names: readonly string[];
  readonly configMap: ConfigMap | undefined;
  readonly settings: readonly CheckedSetting[];
  readonly flags: readonly CheckedSetting[];
  /** Sentences about ConfigMaps that are named and were not found. */
  readonly notes: readonly string[];
}

interface AskedController {
  readonly configMap?: string | undefined;
  readonly lockstep: LockstepSettings;
}

export function checkedController(
  found: FoundObjects,
  { configMap: asked, lockstep }: AskedController,
): ControllerReport {
  const notes: string[] = [];
  const configMap = settingsOf(found, asked, notes);
  const flags = found.controllers.flatMap((controller) =>
    checkedFlags(found, controller, lockstep, notes),
  );
  const given = configMap?.data ?? {};
  return {
    names: found.controllers.map(({ name }) => name),
    configMap,
    settings: checkedSettings(given, lockstep),
    flags: [...new Map(flags.map((flag) => [flag.name, flag])).values()],
    notes,
  };
}

/** Names of the ConfigMap in the chart and the manifests of ingress-nginx. */
const usualNames =
  /(?:^|-)(?:ingress-nginx-controller|nginx-ingress-controller|nginx-configuration)$/;

function settingsOf(
  { configMaps, controllers }: FoundObjects,
  asked: string | undefined,
  notes: string[],
): ConfigMap | undefined {
  const named = asked ?? controllers.map(({ flags }) => flags.get("configmap")).find(isText);
  if (named !== undefined) {
    const found = configMaps.get(named);
    if (found === undefined) notes.push(`ConfigMap ${named} was not found`);
    return found;
  }
  const usual = [...configMaps.values()].filter(({ name }) => usualNames.test(name));
  const [first, ...others] = usual;
  if (first !== undefined && others.length > 0) {
    const all = usual.map(({ namespace, name }) => `${namespace}/${name}`).join(", ");
    notes.push(
      `several ConfigMaps look like that of ingress-nginx: ${all}; --config-map chooses one`,
    );
  }
  return first;
}

function isText(text: string | undefined): text is string {
  return text !== undefined;
}

interface FlagRow {
  readonly lockstep: string;
  readonly verdict: (value: string, lockstep: LockstepSettings) => CheckedSetting["verdict"];
}

const toSet =
  (isSet: (lockstep: LockstepSettings) => boolean): FlagRow["verdict"] =>
  (_, lockstep) =>
    isSet(lockstep) ? "same" : "differs";
const refused: FlagRow["verdict"] = (value) => (value === "false" ? "same" : "refused");
const differs: FlagRow["verdict"] = (value) => (value === "false" ? "same" : "differs");

/** Flags that answers depend on. The others are about classes, health, metrics and elections. */
const flagRows: Readonly<Record<string, FlagRow>> = {
  "default-backend-service": {
    lockstep: "--default-backend namespace/name:port",
    verdict: toSet(({ hasDefaultBackend }) => hasDefaultBackend),
  },
  "default-ssl-certificate": {
    lockstep: "--default-certificate namespace/name",
    verdict: toSet(({ hasDefaultCertificate }) => hasDefaultCertificate),
  },
  "publish-service": {
    lockstep: "--publish-address with the address of the load balancer",
    verdict: toSet(({ publishesAddress }) => publishesAddress),
  },
  "publish-status-address": {
    lockstep: "--publish-address",
    verdict: toSet(({ publishesAddress }) => publishesAddress),
  },
  "enable-ssl-passthrough": { lockstep: "not supported: TLS ends at Lockstep", verdict: refused },
  "annotations-prefix": {
    lockstep: "not supported: annotations are nginx.ingress.kubernetes.io/… or lockstep.dev/…",
    verdict: (value) => (value === "nginx.ingress.kubernetes.io" ? "same" : "refused"),
  },
  "watch-namespace": { lockstep: "Lockstep serves every namespace", verdict: differs },
  "watch-namespace-selector": { lockstep: "Lockstep serves every namespace", verdict: differs },
  "disable-catch-all": { lockstep: "Ingresses without a host are served", verdict: differs },
  "watch-ingress-without-class": {
    lockstep: "an Ingress without a class needs a default IngressClass of Lockstep",
    verdict: differs,
  },
  "enable-topology-aware-routing": { lockstep: "not supported", verdict: differs },
};

/** By flag, the protocol of the services in its ConfigMap. */
const streamFlags = { "tcp-services-configmap": "TCP", "udp-services-configmap": "UDP" } as const;

function checkedFlags(
  { configMaps }: FoundObjects,
  { flags, name: controller }: IngressNginx,
  lockstep: LockstepSettings,
  notes: string[],
): readonly CheckedSetting[] {
  const rows = Object.entries(flagRows).flatMap(([name, row]) => {
    const value = flags.get(name);
    if (value === undefined) return [];
    const verdict = row.verdict(value, lockstep);
    return [{ name: `--${name}`, value, isSet: true, verdict, lockstep: row.lockstep }];
  });
  const streams = Object.entries(streamFlags).flatMap(([name, protocol]) => {
    const value = flags.get(name);
    if (value === undefined) return [];
    const found = configMaps.get(value);
    if (found === undefined) {
      notes.push(`${controller}: ConfigMap ${value} of --${name} was not found`);
      return [];
    }
    const count = Object.keys(found.data).length;
    const what = `not supported: Lockstep has no ${protocol} listeners (${count} in the ConfigMap)`;
    const verdict = count === 0 ? ("same" as const) : ("refused" as const);
    return [{ name: `--${name}`, value, isSet: true, verdict, lockstep: what }];
  });
  return [...rows, ...streams];
}
