// The words each version has for what its node controllers log: sentences until structured logging
// reached them in 1.27. Pure.

import { type KlogValues, structured } from "../../../components/klog.ts";
import { toTime } from "../../../environment/clock.ts";
import { goDuration } from "../../../environment/go-duration.ts";
import { optionalString, type RawRecord } from "../../../kube/kinds/fields.ts";
import type { NodeLineStyle } from "./node-line-style.ts";
import type { NodeFact, PodName } from "./node-lines.ts";

export function sentence(fact: NodeFact, style: NodeLineStyle): string {
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

export function structuredLine(fact: NodeFact): string {
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
