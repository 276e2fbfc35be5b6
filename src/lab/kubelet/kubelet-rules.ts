// Differences between versions of the kubelet, as data; `versions/` has the rules of each version.

export interface KubeletRules {
  /** The kubelet version in the status of the node. */
  readonly version: string;
  /**
   * Renews a Lease as its heartbeat and posts its status only when that changed; before, each post
   * of the status was the heartbeat.
   */
  readonly leases: boolean;
  /** Conditions of the node besides Ready, in the order in which they are posted. */
  readonly otherConditions: readonly string[];
  /** The node's system has labels without `beta` in their names too: since 1.14. */
  readonly stableLabels: boolean;
  /** Pods have a condition ContainersReady: since 1.11. */
  readonly containersReady: boolean;
  /** Posts how a pod ended before the pod is deleted: since 1.27. */
  readonly postsEnd: boolean;
}

export const todaysKubelet: KubeletRules = {
  version: "v1.33.0+lockstep",
  leases: true,
  otherConditions: ["MemoryPressure", "DiskPressure", "PIDPressure"],
  stableLabels: true,
  containersReady: true,
  postsEnd: true,
};
