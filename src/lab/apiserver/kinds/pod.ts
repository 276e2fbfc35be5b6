// Pods: a spec that is nearly immutable once created, a status written by the kubelet, and a grace
// period between DELETE and removal for pods that run somewhere.
import { sameJson } from "../../same-json.ts";
import { addDefaultTolerations } from "../admission/default-tolerations.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
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
import { setPodSpecDefaults, validatePodSpec } from "./pod-spec.ts";
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
  subresources: ["status", "log", "binding"],
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
    setDefaults(spec, { enableServiceLinks: true });
  },
  prepareCreate(pod) {
    startGeneration(pod);
    addDefaultTolerations(pod);
    pod["status"] = { phase: "Pending", qosClass: qosClass(pod) };
  },
  prepareUpdate(pod, current) {
    keepStatus(pod, current);
    bumpGenerationIfChanged(pod, current, ["spec"]);
  },
  prepareStatusUpdate(pod, current) {
    const { finalizers } = pod.metadata;
    keepAllButStatus(pod, current);
    if (finalizers !== undefined) {
      pod.metadata.finalizers = finalizers;
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
  validateUpdate: validatePodUpdate,
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

const mutableFields = [
  "activeDeadlineSeconds",
  "terminationGracePeriodSeconds",
  "tolerations",
  "schedulingGates",
];

function validatePodUpdate(pod: KubeObject, current: KubeObject, errors: FieldErrors): void {
  if (!sameJson(fixedPart(pod), fixedPart(current))) {
    errors.forbidden(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`," +
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    );
  }
}

/** The spec without what an update may change. */
function fixedPart(pod: KubeObject): JsonObject {
  const spec = { ...objectAt(pod, "spec") };
  for (const field of mutableFields) {
    delete spec[field];
  }
  for (const field of ["containers", "initContainers"]) {
    spec[field] = objectsAt(spec, field).map((container) => ({ ...container, image: "" }));
  }
  return spec;
}

/** `podIP` and `podIPs[0]` are one fact in two fields; whoever wrote one gets the other. */
function alignPodIps(status: JsonObject | undefined): void {
  if (status === undefined) {
    return;
  }
  for (const [single, list] of [
    ["podIP", "podIPs"],
    ["hostIP", "hostIPs"],
  ] as const) {
    const ip = textAt(status, single);
    const first = textAt(objectsAt(status, list)[0], "ip");
    if (ip !== "" && first !== ip) {
      status[list] = [{ ip }];
    } else if (ip === "" && first !== "") {
      status[single] = first;
    }
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
