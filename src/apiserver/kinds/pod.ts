// Pods: a spec that is nearly immutable once created, a status written by the kubelet, and a grace
// period between DELETE and removal for pods that run somewhere.
import { sameJson } from "../../kube/kinds/same-json.ts";
import { addDefaultPriority, keepPriority } from "../admission/default-priority.ts";
import { addDefaultTolerations } from "../admission/default-tolerations.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ensureObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  valueAt,
} from "./fields.ts";
import { validatePodSpec } from "./pod-rules.ts";
import { setPodSpecDefaults, setRequestDefaults } from "./pod-spec.ts";
import { validatePodStatus, validatePodUpdate } from "./pod-update-rules.ts";
import { podSpecWarnings } from "./pod-warnings.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  keepAllButStatus,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

export const podKind = defineKind({
  kind: "Pod",
  resource: "pods",
  shortNames: ["po"],
  categories: ["all"],
  namespaced: true,
  schema: "core.v1.Pod",
  returnsDeleted: true,
  subresources: ["status", "log", "binding", "eviction"],
  selectableFields: {
    "spec.nodeName": (pod) => textAt(pod, "spec", "nodeName"),
    "spec.restartPolicy": (pod) => textAt(pod, "spec", "restartPolicy"),
    "spec.schedulerName": (pod) => textAt(pod, "spec", "schedulerName"),
    "spec.serviceAccountName": (pod) => textAt(pod, "spec", "serviceAccountName"),
    "spec.hostNetwork": (pod) => String(valueAt(pod, "spec", "hostNetwork") === true),
    "status.phase": (pod) => textAt(pod, "status", "phase"),
    "status.podIP": (pod) => textAt(pod, "status", "podIP"),
    "status.nominatedNodeName": (pod) => textAt(pod, "status", "nominatedNodeName"),
  },
  setDefaults(pod) {
    const spec = ensureObject(pod, "spec");
    setPodSpecDefaults(spec);
    setRequestDefaults(spec);
    setDefaults(spec, { enableServiceLinks: true });
    alignPodIps(objectAt(pod, "status"));
    if ((numberAt(spec, "terminationGracePeriodSeconds") ?? 0) < 0) {
      spec["terminationGracePeriodSeconds"] = 1;
    }
  },
  prepareCreate(pod) {
    startGeneration(pod);
    addDefaultTolerations(pod);
    addDefaultPriority(pod);
    pod["status"] = { phase: "Pending", ...gatedConditions(pod), qosClass: qosClass(pod) };
  },
  prepareUpdate(pod, current) {
    addDefaultTolerations(pod);
    keepPriority(pod, current);
    keepStatus(pod, current);
    bumpGenerationIfChanged(pod, current, ["spec"]);
  },
  prepareStatusUpdate(pod, current) {
    keepAllButStatus(pod, current);
    const { ownerReferences } = current.metadata;
    delete pod.metadata.ownerReferences;
    if (ownerReferences !== undefined) {
      pod.metadata.ownerReferences = ownerReferences;
    }
    const qos = textAt(current, "status", "qosClass");
    if (qos !== "") {
      setDefaults(ensureObject(pod, "status"), { qosClass: qos });
    }
    alignPodIps(objectAt(pod, "status"));
  },
  validate(pod, errors) {
    validatePodSpec(pod["spec"], "spec", errors);
  },
  validateUpdateLast: validatePodUpdate,
  validateStatus: validatePodStatus,
  warnings: (pod) => podSpecWarnings(pod["spec"], "spec"),
  gracePeriodSeconds(pod, requested) {
    const phase = textAt(pod, "status", "phase");
    const isUnscheduled = textAt(pod, "spec", "nodeName") === "";
    if (isUnscheduled || phase === "Failed" || phase === "Succeeded") {
      return 0;
    }
    const seconds = requested ?? numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? 0;
    return seconds < 0 ? 1 : seconds;
  },
});

/** `podIP` and `podIPs[0]` are one fact in two fields; whoever wrote one gets the other. */
function alignPodIps(status: JsonObject | undefined): void {
  if (status === undefined) {
    return;
  }
  const ip = textAt(status, "podIP");
  const first = textAt(objectsAt(status, "podIPs")[0], "ip");
  if (ip !== "" && first !== ip) {
    status["podIPs"] = [{ ip }];
  } else if (ip === "" && first !== "") {
    status["podIP"] = first;
  }
}

function qosClass(pod: KubeObject): string {
  const containers = [
    ...objectsAt(pod, "spec", "containers"),
    ...objectsAt(pod, "spec", "initContainers"),
  ];
  const resources = containers.map((container) => ({
    limits: objectAt(container, "resources", "limits") ?? {},
    requests: objectAt(container, "resources", "requests") ?? {},
  }));
  if (resources.every(({ limits, requests }) => sameJson(limits, {}) && sameJson(requests, {}))) {
    return "BestEffort";
  }
  const isGuaranteed = resources.every(
    ({ limits, requests }) =>
      ["cpu", "memory"].every((name) => name in limits) && sameJson(limits, requests),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

/** pkg/registry/core/pod/strategy.go applySchedulingGatedCondition. */
function gatedConditions(pod: KubeObject): JsonObject {
  if (objectsAt(pod, "spec", "schedulingGates").length === 0) return {};
  const condition = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: pod.metadata.creationTimestamp,
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
  return { conditions: [condition] };
}
