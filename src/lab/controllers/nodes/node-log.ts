// The log of the node controllers and the pod collector. Each fact becomes a line with the text,
// verbosity, file and line number of the version: sentences until structured logging in 1.27.
import { type Klog, type KlogValues, structured } from "../../../components/klog.ts";
import { toTime, type WallMs } from "../../../environment/clock.ts";
import { goDuration } from "../../../environment/go-duration.ts";
import { optionalString, type RawRecord } from "../../../kube/kinds/fields.ts";

export type NodeFact =
  | { readonly type: "nodeAdded"; readonly node: string }
  | { readonly type: "nodeDeleted"; readonly node: string }
  | { readonly type: "firstSeen"; readonly node: string }
  | { readonly type: "firstStatus"; readonly node: string }
  | { readonly type: "newZone"; readonly zone: string }
  | {
      readonly type: "missed";
      readonly node: string;
      readonly silentMs: number;
      /** As it was found. */
      readonly condition: RawRecord;
    }
  | { readonly type: "neverUpdated"; readonly node: string; readonly condition: string }
  | { readonly type: "nodeEvent"; readonly node: string; readonly event: string }
  | { readonly type: "statusChange"; readonly node: string; readonly status: string }
  | { readonly type: "unreadyPods"; readonly node: string }
  | { readonly type: "unreadyPod"; readonly pod: PodName }
  | { readonly type: "allLost" }
  | { readonly type: "someBack" }
  | { readonly type: "zoneState"; readonly zone: string; readonly state: string }
  | {
      readonly type: "toTaint";
      readonly node: string;
      readonly status: string;
      readonly at: WallMs;
    }
  | { readonly type: "healthyAgain"; readonly node: string }
  | { readonly type: "evicting"; readonly pod: PodName }
  | { readonly type: "forceDeleting"; readonly pod: PodName }
  | { readonly type: "orphaned"; readonly pod: PodName; readonly node: string }
  | { readonly type: "orphanGone"; readonly pod: PodName }
  | { readonly type: "unscheduled"; readonly pod: PodName }
  | { readonly type: "unscheduledGone"; readonly pod: PodName };

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

interface NodeLogOptions {
  readonly klog: Klog;
  /** Of the process. */
  readonly verbosity: number;
  readonly style: NodeLineStyle;
}

export class NodeLog {
  readonly #options: NodeLogOptions;

  constructor(options: NodeLogOptions) {
    this.#options = options;
  }

  note(fact: NodeFact): void {
    const { klog, verbosity, style } = this.#options;
    if (verbosity < verbosityOf(fact, style)) return;
    const text = style.logs === "sentences" ? sentence(fact, style) : structuredLine(fact);
    const isWarning = fact.type === "firstSeen" && style.logs === "sentences";
    klog.write(isWarning ? "W" : "I", sourceOf(fact, style), text);
  }
}

function verbosityOf({ type }: NodeFact, style: NodeLineStyle): number {
  switch (type) {
    case "missed":
      return style.missedVerbosity;
    case "nodeAdded":
    case "nodeDeleted":
    case "firstStatus":
      return 1;
    case "firstSeen":
    case "newZone":
    case "allLost":
    case "someBack":
    case "zoneState":
    case "evicting":
    case "forceDeleting":
    case "orphanGone":
    case "unscheduledGone":
      return 0;
    default:
      return 2;
  }
}

/** Ready has a line number of its own where its text differs from that of other conditions. */
function sourceOf(fact: NodeFact, { sources }: NodeLineStyle): string {
  const isReady = fact.type === "missed" && fact.condition["type"] === "Ready";
  return (isReady ? sources.missedReady : undefined) ?? sources[fact.type];
}

function sentence(fact: NodeFact, style: NodeLineStyle): string {
  const { self } = style;
  const name = (pod: PodName): string =>
    style.podNames === "bare" ? pod.name : `${pod.namespace}/${pod.name}`;
  switch (fact.type) {
    case "nodeAdded":
      return `${self} observed a new Node: ${JSON.stringify(fact.node)}`;
    case "nodeDeleted":
      return `${self} observed a Node deletion: ${fact.node}`;
    case "firstSeen":
      return `Missing timestamp for Node ${fact.node}. Assuming now as a timestamp.`;
    case "firstStatus":
      return `Creating timestamp entry for newly observed Node ${fact.node}`;
    case "newZone":
      return `Initializing eviction metric for zone: ${fact.zone}`;
    case "missed":
      return missedSentence(fact, style);
    case "neverUpdated":
      return `Condition ${fact.condition} of node ${fact.node} was never updated by kubelet`;
    case "nodeEvent":
      return `Recording ${fact.event} event message for node ${fact.node}`;
    case "statusChange":
      return `Recording status change ${fact.status} event message for node ${fact.node}`;
    case "unreadyPods":
      return `Update ready status of pods on node [${fact.node}]`;
    case "unreadyPod":
      return `Updating ready status of pod ${fact.pod.name} to false`;
    case "allLost":
      return `${self} detected that all Nodes are not-Ready. Entering master disruption mode.`;
    case "someBack":
      return `${self} detected that some Nodes are Ready. Exiting master disruption mode.`;
    case "zoneState":
      return `${self} detected that zone ${fact.zone} is now in state ${fact.state}.`;
    case "toTaint": {
      const state = fact.status === "False" ? "NotReady" : "unresponsive";
      return `Node ${fact.node} is ${state} as of ${goTime(toTime(fact.at))}. Adding it to the Taint queue.`;
    }
    case "healthyAgain":
      return `Node ${fact.node} is healthy again, removing all taints`;
    case "evicting":
      return `NoExecuteTaintManager is deleting Pod: ${fact.pod.namespace}/${fact.pod.name}`;
    case "forceDeleting": {
      const separator = style.podNames === "bare" ? ":" : "/";
      return `PodGC is force deleting Pod: ${fact.pod.namespace}${separator}${fact.pod.name}`;
    }
    case "orphaned":
      return `Found orphaned Pod ${name(fact.pod)} assigned to the Node ${fact.node}. Deleting.`;
    case "orphanGone":
      return `Forced deletion of orphaned Pod ${name(fact.pod)} succeeded`;
    case "unscheduled":
      return `Found unscheduled terminating Pod ${name(fact.pod)} not assigned to any Node. Deleting.`;
    case "unscheduledGone":
      return `Forced deletion of unscheduled terminating Pod ${name(fact.pod)} succeeded`;
  }
}

/** A value prints its fields, as Ready did until 1.15; a pointer prints itself by its String. */
function missedSentence(fact: NodeFact & { type: "missed" }, style: NodeLineStyle): string {
  const { node, silentMs, condition } = fact;
  const start = `node ${node} hasn't been updated for ${goDuration(silentMs)}.`;
  return condition["type"] === "Ready" && style.sources.missedReady !== undefined
    ? `${start} Last ready condition is: {${fieldsOf(condition).join(" ")}}`
    : `${start} Last ${String(condition["type"])} is: ${pointerTo(condition)}`;
}

function structuredLine(fact: NodeFact): string {
  const lifecycle = (message: string, values: KlogValues = {}): string =>
    structured(message, { logger: "node-lifecycle-controller", ...values });
  const collector = (message: string, pod: PodName, values: KlogValues = {}): string =>
    structured(message, {
      logger: "pod-garbage-collector-controller",
      pod: `${pod.namespace}/${pod.name}`,
      ...values,
    });
  switch (fact.type) {
    case "nodeAdded":
      return lifecycle("Controller observed a new Node", { node: fact.node });
    case "nodeDeleted":
      return lifecycle("Controller observed a Node deletion", { node: fact.node });
    case "firstSeen":
      return lifecycle("Missing timestamp for Node. Assuming now as a timestamp", {
        node: fact.node,
      });
    case "firstStatus":
      return lifecycle("Creating timestamp entry for newly observed Node", { node: fact.node });
    case "newZone":
      return lifecycle("Initializing eviction metric for zone", { zone: fact.zone });
    case "missed":
      return lifecycle("Node hasn't been updated", {
        node: fact.node,
        duration: goDuration(fact.silentMs),
        nodeConditionType: String(fact.condition["type"]),
        currentCondition: pointerTo(fact.condition),
      });
    case "neverUpdated":
      return lifecycle("Condition of node was never updated by kubelet", {
        nodeConditionType: fact.condition,
        node: fact.node,
      });
    case "nodeEvent": {
      const { event, node } = fact;
      return lifecycle("Recording event message for node", { event, node });
    }
    case "statusChange": {
      const { status, node } = fact;
      return lifecycle("Recording status change event message for node", { status, node });
    }
    case "unreadyPods":
      return lifecycle("Update ready status of pods on node", { node: fact.node });
    case "unreadyPod":
      return lifecycle("Updating ready status of pod to false", {
        pod: `${fact.pod.namespace}/${fact.pod.name}`,
      });
    case "allLost":
      return lifecycle(
        "Controller detected that all Nodes are not-Ready. Entering master disruption mode",
      );
    case "someBack":
      return lifecycle(
        "Controller detected that some Nodes are Ready. Exiting master disruption mode",
      );
    case "zoneState": {
      const { zone, state: newState } = fact;
      return lifecycle("Controller detected that zone is now in new state", { zone, newState });
    }
    case "toTaint": {
      const state = fact.status === "False" ? "NotReady" : "unresponsive";
      const timeStamp = goTime(toTime(fact.at));
      const values = { node: fact.node, timeStamp };
      return lifecycle(`Node is ${state}. Adding it to the Taint queue`, values);
    }
    case "healthyAgain":
      return lifecycle("Node is healthy again, removed all taints", { node: fact.node });
    case "evicting":
      return structured("Deleting pod", {
        logger: "taint-eviction-controller",
        controller: "taint-eviction-controller",
        pod: `${fact.pod.namespace}/${fact.pod.name}`,
      });
    case "forceDeleting":
      return collector("PodGC is force deleting Pod", fact.pod);
    case "orphaned":
      return collector("Found orphaned Pod assigned to the Node, deleting", fact.pod, {
        node: fact.node,
      });
    case "orphanGone":
      return collector("Forced deletion of orphaned Pod succeeded", fact.pod);
    case "unscheduled":
      return collector(
        "Found unscheduled terminating Pod not assigned to any Node, deleting",
        fact.pod,
      );
    case "unscheduledGone":
      return collector("Forced deletion of unscheduled terminating Pod succeeded", fact.pod);
  }
}

/** `2026-01-01 00:00:40 +0000 UTC`: how Go prints a time. */
function goTime(time: string): string {
  return `${time.slice(0, 19).replace("T", " ")} +0000 UTC`;
}

function pointerTo(condition: RawRecord): string {
  return `&NodeCondition{${fieldsOf(condition).join(",")},}`;
}

function fieldsOf(condition: RawRecord): readonly string[] {
  const text = (field: string): string => optionalString(condition, field) ?? "";
  return [
    `Type:${text("type")}`,
    `Status:${text("status")}`,
    `LastHeartbeatTime:${goTime(text("lastHeartbeatTime"))}`,
    `LastTransitionTime:${goTime(text("lastTransitionTime"))}`,
    `Reason:${text("reason")}`,
    `Message:${text("message")}`,
  ];
}

export interface NodeLineStyle {
  readonly logs: "sentences" | "structured";
  /** The name of the controller in its sentences. */
  readonly self: string;
  /** Whether the pod collector names pods with their namespace. */
  readonly podNames: "bare" | "path";
  /** A missed heartbeat is logged at this verbosity and above. */
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
