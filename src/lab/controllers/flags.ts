// The flags of kube-controller-manager that the lab's controllers obey, with their real names and
// the defaults of the chosen version. They are read once at the start of a run: changing one means a
// new run, as for the real process.
import { goDuration, parseGoDuration } from "../../environment/go-duration.ts";
import type { Profile } from "../versions/profile.ts";

export interface ControllerFlags {
  /** Tokens a second of each controller's own client. */
  readonly "kube-api-qps": number;
  readonly "kube-api-burst": number;
  readonly "concurrent-endpoint-syncs": number;
  readonly "concurrent-service-endpoint-syncs": number;
  readonly "mirroring-concurrent-service-endpoint-syncs": number;
  readonly "concurrent-deployment-syncs": number;
  readonly "concurrent-replicaset-syncs": number;
  readonly "concurrent-gc-syncs": number;
  readonly "max-endpoints-per-slice": number;
  readonly "mirroring-max-endpoints-per-subset": number;
  readonly "endpoint-updates-batch-period": number;
  readonly "endpointslice-updates-batch-period": number;
  readonly "mirroring-endpointslice-updates-batch-period": number;
  /** Informers replay what they know after this long, stretched by a factor drawn at the start. */
  readonly "min-resync-period": number;
  /** How often nodes are looked at. */
  readonly "node-monitor-period": number;
  /** Time without a heartbeat until a node is lost. */
  readonly "node-monitor-grace-period": number;
  /** How long a new node may be. */
  readonly "node-startup-grace-period": number;
  /** After which pods of a silent node are deleted, before taints did that. */
  readonly "pod-eviction-timeout": number;
  /** Nodes a second of a healthy zone that are emptied. */
  readonly "node-eviction-rate": number;
  /** The same in an unhealthy zone, if it is large. */
  readonly "secondary-node-eviction-rate": number;
  readonly "large-cluster-size-threshold": number;
  /** The share of a zone's nodes that are not ready from which on it is unhealthy. */
  readonly "unhealthy-zone-threshold": number;
  /** Ended pods that may exist before the oldest are deleted; 0 for any number. */
  readonly "terminated-pod-gc-threshold": number;
  readonly "leader-elect": boolean;
  readonly "leader-elect-lease-duration": number;
  readonly "leader-elect-renew-deadline": number;
  readonly "leader-elect-retry-period": number;
  readonly "leader-elect-resource-lock": ResourceLock;
  /** Verbosity of the log. */
  readonly v: number;
}

/** The kind of object that holds the lock of the leader election. */
export type ResourceLock = (typeof locks)[number];

const locks = ["endpoints", "endpointsleases", "leases"] as const;

/** Flags whose value is a duration, here in milliseconds. */
const durations = new Set<string>([
  "endpoint-updates-batch-period",
  "endpointslice-updates-batch-period",
  "mirroring-endpointslice-updates-batch-period",
  "min-resync-period",
  "node-monitor-period",
  "node-monitor-grace-period",
  "node-startup-grace-period",
  "pod-eviction-timeout",
  "leader-elect-lease-duration",
  "leader-elect-renew-deadline",
  "leader-elect-retry-period",
]);

/**
 * As of 1.33: pkg/controller/apis/config/v1alpha1/defaults.go, the v1alpha1/defaults.go of each
 * controller, cmd/kube-controller-manager/app/options and component-base/config/v1alpha1. Older
 * profiles name what was different.
 */
const defaults: ControllerFlags = {
  "kube-api-qps": 20,
  "kube-api-burst": 30,
  "concurrent-endpoint-syncs": 5,
  "concurrent-service-endpoint-syncs": 5,
  "mirroring-concurrent-service-endpoint-syncs": 5,
  "concurrent-deployment-syncs": 5,
  "concurrent-replicaset-syncs": 5,
  "concurrent-gc-syncs": 20,
  "max-endpoints-per-slice": 100,
  "mirroring-max-endpoints-per-subset": 1000,
  "endpoint-updates-batch-period": 0,
  "endpointslice-updates-batch-period": 0,
  "mirroring-endpointslice-updates-batch-period": 0,
  "min-resync-period": 12 * 3_600_000,
  "node-monitor-period": 5000,
  "node-monitor-grace-period": 50_000,
  "node-startup-grace-period": 60_000,
  "pod-eviction-timeout": 5 * 60_000,
  "node-eviction-rate": 0.1,
  "secondary-node-eviction-rate": 0.01,
  "large-cluster-size-threshold": 50,
  "unhealthy-zone-threshold": 0.55,
  "terminated-pod-gc-threshold": 12_500,
  "leader-elect": true,
  "leader-elect-lease-duration": 15_000,
  "leader-elect-renew-deadline": 10_000,
  "leader-elect-retry-period": 2000,
  "leader-elect-resource-lock": "leases",
  v: 0,
};

/** Longer than any run. */
const nodesBelievedMs = 1_000 * 3_600_000;

/**
 * For a cluster whose nodes no kubelet reports. Otherwise its nodes are lost after a minute, and all pods
 * are evicted five minutes later.
 */
export const withoutKubelets: Partial<ControllerFlags> = {
  "node-monitor-grace-period": nodesBelievedMs,
  "node-startup-grace-period": nodesBelievedMs,
};

/** Flags that may be 0; for all others 0 would mean that nothing ever happens. */
const mayBeZero = new Set<string>([
  "endpoint-updates-batch-period",
  "endpointslice-updates-batch-period",
  "mirroring-endpointslice-updates-batch-period",
  "node-eviction-rate",
  "secondary-node-eviction-rate",
  "large-cluster-size-threshold",
  "unhealthy-zone-threshold",
  "terminated-pod-gc-threshold",
  "v",
]);

/** leaderelection.go JitterFactor: what a retry may be longer than the period at the least. */
const retryJitter = 1.2;

/**
 * All flags of a run. One that the version lacks has its default, which is what that version did
 * without it, and cannot be given.
 */
export function controllerFlags(
  { name: version, flags: { lacks, defaults: own } }: Pick<Profile, "name" | "flags">,
  changed: Partial<ControllerFlags> = {},
): ControllerFlags {
  for (const name of Object.keys(changed)) {
    if (!Object.hasOwn(defaults, name)) throw new RangeError(`unknown flag: --${name}`);
    if (lacks.some((lacking) => lacking === name)) {
      throw new RangeError(`Kubernetes ${version} has no flag --${name}`);
    }
  }
  const flags: ControllerFlags = { ...defaults, ...own, ...changed };
  for (const [name, value] of Object.entries({ ...flags })) {
    if (typeof value === "number") checkNumber(name, value);
  }
  checkElection(flags);
  return flags;
}

/** Flags as they are typed, `kube-api-qps=300` or with dashes; a `RangeError` names the mistake. */
export function readFlags(words: readonly string[]): Partial<ControllerFlags> {
  const read = Object.fromEntries(words.map(readFlag));
  if (!areFlags(read)) throw new RangeError("a flag has a value of another kind");
  return read;
}

function readFlag(word: string): readonly [string, number | boolean | string] {
  const [, name = "", text = ""] = /^(?:--)?([\w-]+)=(.*)$/.exec(word) ?? [];
  const known = Object.entries({ ...defaults }).find(([one]) => one === name);
  if (known === undefined) {
    const names = Object.keys(defaults).join(", ");
    throw new RangeError(`${word}: it must be NAME=VALUE, with a NAME of ${names}`);
  }
  const [, standard] = known;
  const value = durations.has(name) ? parseGoDuration(text) : valueLike(standard, text);
  if (value !== undefined) return [name, value];
  const example = durations.has(name) ? goDuration(Number(standard)) : standard;
  throw new RangeError(
    `--${name}: it must be a value such as ${example}, not ${text || "nothing"}`,
  );
}

function valueLike(standard: number | boolean | string, text: string) {
  if (typeof standard === "number") {
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  }
  if (typeof standard === "boolean") {
    return text === "true" ? true : text === "false" ? false : undefined;
  }
  return locks.find((lock) => lock === text);
}

function areFlags(read: Readonly<Record<string, unknown>>): read is Partial<ControllerFlags> {
  const standards = new Map<string, unknown>(Object.entries({ ...defaults }));
  return Object.entries(read).every(([name, value]) => typeof value === typeof standards.get(name));
}

/** `--kube-api-qps=20`, …: the arguments of the process, as its pod's command shows them. */
export function flagArguments(flags: ControllerFlags, profile: Pick<Profile, "flags">): string[] {
  const { lacks } = profile.flags;
  const known = Object.entries({ ...flags }).filter(([name]) => !lacks.some((one) => one === name));
  return known.map(([name, value]) =>
    durations.has(name) ? `--${name}=${goDuration(Number(value))}` : `--${name}=${value}`,
  );
}

function checkNumber(name: string, value: number): void {
  const least = mayBeZero.has(name) ? 0 : Number.MIN_VALUE;
  if (!(value >= least && Number.isFinite(value))) {
    throw new RangeError(`--${name} must be ${least === 0 ? "0 or more" : "positive"}: ${value}`);
  }
}

/** tools/leaderelection/leaderelection.go NewLeaderElector. */
function checkElection(flags: ControllerFlags): void {
  const renewDeadline = flags["leader-elect-renew-deadline"];
  if (flags["leader-elect-lease-duration"] <= renewDeadline) {
    throw new RangeError("--leader-elect-lease-duration must be above the renew deadline");
  }
  if (renewDeadline <= flags["leader-elect-retry-period"] * retryJitter) {
    throw new RangeError(
      `--leader-elect-renew-deadline must be above ${retryJitter} times the retry period`,
    );
  }
}
