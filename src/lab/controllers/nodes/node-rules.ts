// Differences between versions in how nodes are watched and given up, as data. Read in
// pkg/controller/node (1.7, 1.9), pkg/controller/nodelifecycle (1.17, 1.33) and
// pkg/controller/podgc of each version's source.
import {
  type NodeLineStyle,
  nodeLines17,
  nodeLines19,
  nodeLines117,
  nodeLines133,
} from "./node-log.ts";

export interface NodeRules {
  /** Kubelets renew a Lease, and its renewal counts as a heartbeat: on by default since 1.14. */
  readonly leases: boolean;
  /** Kubelets label nodes without `beta` too: since 1.14. */
  readonly stableLabels: boolean;
  /** Kubelets post whether the containers are ready as a condition: since 1.11. */
  readonly containersReady: boolean;
  /** Kubelets post how a pod ended before it is deleted: since 1.27. */
  readonly postsEnd: boolean;
  /** The conditions besides Ready that become Unknown when a node is silent. */
  readonly otherConditions: readonly string[];
  /** Whether a pod's Ready=False gets the time of the flip, or keeps the time it had. */
  readonly podTransitionTime: "set" | "kept";
  /** Where the pods of a lost node are read; a live list costs a request. */
  readonly podsFrom: "cache" | "live-list";
  /** Pods that are unready already are written all the same. */
  readonly writesUnreadyPods: boolean;
  /** Pods get an Event too. */
  readonly tellsPods: boolean;
  /** So many nodes are looked after at a time. */
  readonly nodesAtOnce: number;
  /** How pods leave a lost node. */
  readonly eviction: "taints" | "timeout";
  /** Whether eviction goes by the condition found, or by what the same pass made of it. */
  readonly evictionBy: "observed" | "current";
  /** A lost node without its taint is queued again at each check: 1.33, not 1.17. */
  readonly requeuesUntainted: boolean;
  /** Taints evict by a client of their own, and so with a rate limit of their own: since 1.29. */
  readonly ownTaintClient: boolean;
  /** NoSchedule taints follow the conditions: on by default since 1.12. */
  readonly taintsByCondition: boolean;
  /** Evicted and orphaned pods get a condition with the reason, and a terminal phase. */
  readonly explainsDeletion: boolean;
  /** How long a node must be unknown before pods on it count as orphaned; 0: all are listed. */
  readonly orphanQuarantineMs: number;
  /** The queues of the taint manager have names, and with that metrics. */
  readonly namesTaintQueues: boolean;
  readonly evictionsMetric: "evictions_number" | "evictions_total";
  readonly lines: NodeLineStyle;
}

/** Since 1.13, when PIDPressure had come and OutOfDisk gone. */
const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];

export const nodeRules17: NodeRules = {
  leases: false,
  stableLabels: false,
  containersReady: false,
  postsEnd: false,
  // nodecontroller.go remainingNodeConditionTypes.
  otherConditions: ["OutOfDisk", "MemoryPressure", "DiskPressure"],
  // controller_utils.go markAllPodsNotReady changes the status alone.
  podTransitionTime: "kept",
  podsFrom: "live-list",
  writesUnreadyPods: true,
  tellsPods: false,
  // monitorNodeStatus goes over the nodes one by one.
  nodesAtOnce: 1,
  // TaintBasedEvictions is alpha and off.
  eviction: "timeout",
  evictionBy: "observed",
  requeuesUntainted: false,
  ownTaintClient: false,
  taintsByCondition: false,
  explainsDeletion: false,
  // gc_controller.go gcOrphaned reads the nodes in each round.
  orphanQuarantineMs: 0,
  namesTaintQueues: false,
  evictionsMetric: "evictions_number",
  lines: nodeLines17,
};

export const nodeRules19: NodeRules = {
  ...nodeRules17,
  lines: nodeLines19,
};

/** The same in 1.17.13. */
export const nodeRules117: NodeRules = {
  leases: true,
  stableLabels: true,
  containersReady: true,
  postsEnd: false,
  otherConditions: pressures,
  // controller_utils.go MarkPodsNotReady, by UpdatePodCondition since 1.15.
  podTransitionTime: "set",
  podsFrom: "cache",
  writesUnreadyPods: false,
  tellsPods: false,
  nodesAtOnce: 1,
  eviction: "taints",
  // monitorNodeHealth: processTaintBaseEviction(node, &observedReadyCondition).
  evictionBy: "observed",
  requeuesUntainted: false,
  ownTaintClient: false,
  taintsByCondition: true,
  explainsDeletion: false,
  // gc_controller.go quarantineTime.
  orphanQuarantineMs: 40_000,
  namesTaintQueues: true,
  evictionsMetric: "evictions_number",
  lines: nodeLines117,
};

export const nodeRules133: NodeRules = {
  ...nodeRules117,
  postsEnd: true,
  tellsPods: true,
  // node_lifecycle_controller.go nodeUpdateWorkerSize.
  nodesAtOnce: 8,
  evictionBy: "current",
  requeuesUntainted: true,
  ownTaintClient: true,
  // 1.26+: taint_eviction.go addConditionAndDeletePod, gc_controller.go markFailedAndDeletePod.
  explainsDeletion: true,
  evictionsMetric: "evictions_total",
  lines: nodeLines133,
};
