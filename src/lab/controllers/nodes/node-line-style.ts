// Where in each version's source the lines of the node controllers are, and what of their words
// differs. `node-words.ts` has the words.
import type { NodeFact } from "./node-lines.ts";

export interface NodeLineStyle {
  readonly logs: "sentences" | "structured";
  /** What the controller calls itself. */
  readonly self: string;
  /** Whether the pod collector names pods with their namespace. */
  readonly podNames: "bare" | "path";
  /** From which on a missed heartbeat is logged. */
  readonly missedVerbosity: number;
  readonly sources: Readonly<Record<NodeFact["type"], string>> & {
    /** Only where Ready has a line of its own. */
    readonly missedReady?: string;
  };
}

/** pkg/controller/podgc of 1.7 and 1.9. */
const earlyCollector = {
  forceDeleting: "gc_controller.go:62",
  orphaned: "gc_controller.go:162",
  orphanGone: "gc_controller.go:166",
  unscheduled: "gc_controller.go:180",
  unscheduledGone: "gc_controller.go:184",
};

/** pkg/controller/node of 1.7.16. */
export const nodeLines17: NodeLineStyle = {
  logs: "sentences",
  self: "NodeController",
  podNames: "bare",
  missedVerbosity: 4,
  sources: {
    ...earlyCollector,
    nodeAdded: "nodecontroller.go:525",
    nodeDeleted: "nodecontroller.go:553",
    firstSeen: "nodecontroller.go:877",
    firstStatus: "nodecontroller.go:884",
    newZone: "nodecontroller.go:542",
    missedReady: "nodecontroller.go:936",
    missed: "nodecontroller.go:964",
    neverUpdated: "nodecontroller.go:954",
    nodeEvent: "controller_utils.go:274",
    statusChange: "controller_utils.go:285",
    unreadyPods: "controller_utils.go:203",
    unreadyPod: "controller_utils.go:220",
    allLost: "nodecontroller.go:743",
    someBack: "nodecontroller.go:770",
    zoneState: "nodecontroller.go:793",
    toTaint: "nodecontroller.go:631",
    healthyAgain: "nodecontroller.go:656",
    evicting: "taint_controller.go:86",
  },
};

/** pkg/controller/node of 1.9.11. */
export const nodeLines19: NodeLineStyle = {
  ...nodeLines17,
  self: "Controller",
  sources: {
    ...earlyCollector,
    nodeAdded: "node_controller.go:633",
    nodeDeleted: "node_controller.go:645",
    firstSeen: "node_controller.go:964",
    firstStatus: "node_controller.go:971",
    newZone: "node_controller.go:611",
    missedReady: "node_controller.go:1022",
    missed: "node_controller.go:1056",
    neverUpdated: "node_controller.go:1046",
    nodeEvent: "controller_utils.go:197",
    statusChange: "controller_utils.go:209",
    unreadyPods: "controller_utils.go:140",
    unreadyPod: "controller_utils.go:157",
    allLost: "node_controller.go:830",
    someBack: "node_controller.go:857",
    zoneState: "node_controller.go:880",
    toTaint: "node_controller.go:718",
    healthyAgain: "node_controller.go:743",
    evicting: "taint_controller.go:85",
  },
};

/** pkg/controller/nodelifecycle of 1.17.3; the lines of 1.17.13 are at the same places. */
export const nodeLines117: NodeLineStyle = {
  logs: "sentences",
  self: "Controller",
  podNames: "path",
  missedVerbosity: 2,
  sources: {
    nodeAdded: "node_lifecycle_controller.go:787",
    nodeDeleted: "node_lifecycle_controller.go:799",
    firstSeen: "node_lifecycle_controller.go:1058",
    firstStatus: "node_lifecycle_controller.go:1065",
    newZone: "node_lifecycle_controller.go:1443",
    missed: "node_lifecycle_controller.go:1137",
    neverUpdated: "node_lifecycle_controller.go:1127",
    nodeEvent: "controller_utils.go:167",
    statusChange: "controller_utils.go:179",
    unreadyPods: "controller_utils.go:121",
    unreadyPod: "controller_utils.go:138",
    allLost: "node_lifecycle_controller.go:1209",
    someBack: "node_lifecycle_controller.go:1236",
    zoneState: "node_lifecycle_controller.go:1259",
    toTaint: "node_lifecycle_controller.go:899",
    healthyAgain: "node_lifecycle_controller.go:910",
    evicting: "taint_manager.go:105",
    forceDeleting: "gc_controller.go:77",
    orphaned: "gc_controller.go:184",
    orphanGone: "gc_controller.go:188",
    unscheduled: "gc_controller.go:233",
    unscheduledGone: "gc_controller.go:237",
  },
};

/** pkg/controller/nodelifecycle, tainteviction and podgc of 1.33.0. */
export const nodeLines133: NodeLineStyle = {
  logs: "structured",
  self: "Controller",
  podNames: "path",
  missedVerbosity: 2,
  sources: {
    nodeAdded: "node_lifecycle_controller.go:675",
    nodeDeleted: "node_lifecycle_controller.go:683",
    firstSeen: "node_lifecycle_controller.go:873",
    firstStatus: "node_lifecycle_controller.go:880",
    newZone: "node_lifecycle_controller.go:1221",
    missed: "node_lifecycle_controller.go:952",
    neverUpdated: "node_lifecycle_controller.go:942",
    nodeEvent: "controller_utils.go:173",
    statusChange: "controller_utils.go:186",
    unreadyPods: "controller_utils.go:123",
    unreadyPod: "controller_utils.go:144",
    allLost: "node_lifecycle_controller.go:1025",
    someBack: "node_lifecycle_controller.go:1044",
    zoneState: "node_lifecycle_controller.go:1067",
    toTaint: "node_lifecycle_controller.go:791",
    healthyAgain: "node_lifecycle_controller.go:799",
    evicting: "taint_eviction.go:111",
    forceDeleting: "gc_controller.go:343",
    orphaned: "gc_controller.go:247",
    orphanGone: "gc_controller.go:259",
    unscheduled: "gc_controller.go:306",
    unscheduledGone: "gc_controller.go:311",
  },
};
