// The question of a prediction: the size of a cluster and the settings of its control plane. Both are plain
// data with bounds, so that a question without sense is refused before anything runs.
import type { ProfileName } from "../versions/profiles.ts";

export interface Counts {
  readonly services: number;
  /** Of the services, 0 to 1. */
  readonly headlessShare: number;
  readonly pods: number;
  readonly nodes: number;
  /** Pods that become ready or stop being so, in the whole cluster. */
  readonly changesPerSecond: number;
  /** Write capacity of the API server; undefined for no limit. */
  readonly writesPerSecond: number | undefined;
  /** Time per write of an idle API server. */
  readonly writeLatencyMs: number;
}

export interface Settings extends FlagSettings {
  readonly version: ProfileName;
  /** How kubelets report, and how long after one another. */
  readonly heartbeat: Heartbeat;
}

/** Those with a flag of kube-controller-manager, which run-flags.ts names. */
export interface FlagSettings {
  /** `--kube-api-qps` and `--kube-api-burst`. */
  readonly qps: number;
  readonly burst: number;
  /** `--concurrent-endpoint-syncs`, and the same for EndpointSlices. */
  readonly workers: number;
  /** `--min-resync-period`. */
  readonly resyncMs: number;
  /** `--endpoint-updates-batch-period`, and the same for EndpointSlices. */
  readonly batchMs: number;
  /** `--node-monitor-grace-period`. */
  readonly graceMs: number;
}

export interface Heartbeat {
  readonly by: "status" | "lease";
  /** The gap between two reports is uniform between these. */
  readonly minMs: number;
  readonly maxMs: number;
}

export interface Question {
  readonly counts: Counts;
  readonly settings: Settings;
  /** The same for every question that is compared with this one. */
  readonly seed: number;
}
