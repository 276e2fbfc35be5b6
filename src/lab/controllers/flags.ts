// The flags of kube-controller-manager that the lab's controllers obey, with their real names and
// defaults. They are read once at the start of a run: changing one means a new run, as for the real
// process.

export interface ControllerFlags {
  /** Tokens a second of each controller's own client. */
  readonly "kube-api-qps": number;
  readonly "kube-api-burst": number;
  readonly "concurrent-endpoint-syncs": number;
  readonly "concurrent-service-endpoint-syncs": number;
  readonly "concurrent-deployment-syncs": number;
  readonly "concurrent-replicaset-syncs": number;
  readonly "concurrent-gc-syncs": number;
  readonly "max-endpoints-per-slice": number;
  readonly "endpoint-updates-batch-period": number;
  readonly "endpointslice-updates-batch-period": number;
  /** Informers replay what they know after this long, stretched by a factor drawn at the start. */
  readonly "min-resync-period": number;
  /** Verbosity of the log. */
  readonly v: number;
}

/** Flags whose value is a duration, here in milliseconds. */
const durations = new Set<string>([
  "endpoint-updates-batch-period",
  "endpointslice-updates-batch-period",
  "min-resync-period",
]);

/**
 * pkg/controller/apis/config/v1alpha1/defaults.go and the v1alpha1/defaults.go of each controller:
 * the same from 1.7 to 1.33 for every flag that existed.
 */
const defaults: ControllerFlags = {
  "kube-api-qps": 20,
  "kube-api-burst": 30,
  "concurrent-endpoint-syncs": 5,
  "concurrent-service-endpoint-syncs": 5,
  "concurrent-deployment-syncs": 5,
  "concurrent-replicaset-syncs": 5,
  "concurrent-gc-syncs": 20,
  "max-endpoints-per-slice": 100,
  "endpoint-updates-batch-period": 0,
  "endpointslice-updates-batch-period": 0,
  "min-resync-period": 12 * 3_600_000,
  v: 0,
};

/** Flags that may be 0; for all others 0 would mean that nothing ever happens. */
const mayBeZero = new Set<string>([
  "endpoint-updates-batch-period",
  "endpointslice-updates-batch-period",
  "v",
]);

export function controllerFlags(changed: Partial<ControllerFlags> = {}): ControllerFlags {
  const flags: ControllerFlags = { ...defaults, ...changed };
  for (const [name, value] of Object.entries<number>({ ...flags })) {
    const least = mayBeZero.has(name) ? 0 : Number.MIN_VALUE;
    if (!(value >= least && Number.isFinite(value))) {
      throw new RangeError(`--${name} must be ${least === 0 ? "0 or more" : "positive"}: ${value}`);
    }
  }
  return flags;
}

/** `--kube-api-qps=20`, …: the arguments of the process, as its pod's command shows them. */
export function flagArguments(flags: ControllerFlags): readonly string[] {
  return Object.entries<number>({ ...flags }).map(([name, value]) =>
    durations.has(name) ? `--${name}=${value / 1000}s` : `--${name}=${value}`,
  );
}
