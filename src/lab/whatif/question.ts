// What is asked of a prediction: how large a cluster is and how its control plane is set. Both are
// plain data with bounds, so that a question which makes no sense is refused before anything runs.
import type { ProfileName } from "../versions/profiles.ts";

export interface Counts {
  readonly services: number;
  /** Of the services, 0 to 1. */
  readonly headlessShare: number;
  readonly pods: number;
  readonly nodes: number;
  /** Pods that become ready or stop being so, in the whole cluster. */
  readonly changesPerSecond: number;
  /** What the API server can write; undefined for more than anybody asks of it. */
  readonly writesPerSecond: number | undefined;
  /** How long it takes over a write when it has nothing else to do. */
  readonly writeLatencyMs: number;
}

export interface Settings {
  readonly version: ProfileName;
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
  /** How kubelets report, and how long after one another. */
  readonly heartbeat: Heartbeat;
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
  /** The same chance for every question that is compared with this one. */
  readonly seed: number;
}
