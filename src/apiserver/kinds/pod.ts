// Pods: a spec that is nearly immutable once created, a status written by the kubelet, and a grace
// period between DELETE and removal for pods that run on a node. The spec is in pod-spec.ts.

import type { WallMs } from "../../environment/clock.ts";
import { isIp } from "../../environment/ip-address.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  textColumn,
  wideColumn,
} from "../tables/columns.ts";
import { ageAt } from "../tables/human-duration.ts";
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
import { invalidIpMessage } from "./ip-rules.ts";
import { validateImmutable } from "./object-meta.ts";
import {
  podSpecWarnings,
  setPodSpecDefaults,
  setRequestDefaults,
  validatePodSpec,
} from "./pod-spec.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  keepAllButStatus,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

/**
 * STATUS is one word for the state of all containers. The first init container that is not done
 * decides; otherwise the last container with a reason does.
 */
export const podColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Ready", "How many of the pod's containers are ready."),
    textColumn("Status", "One word for the state of the pod's containers."),
    textColumn("Restarts", "How often its containers were restarted, and when last."),
    ageColumn,
    wideColumn("IP", "The pod's address."),
    wideColumn("Node", "The node it runs on."),
    wideColumn("Nominated Node", "The node on which room is being made for it."),
    wideColumn("Readiness Gates", "How many of its readiness gates are passed."),
  ],
  cells(pod, now) {
    const { status, ready, total, restarts, lastRestart } = summaryOf(pod);
    const [address] = objectsAt(pod, "status", "podIPs");
    return [
      nameOf(pod),
      `${ready}/${total}`,
      status,
      restartsText(restarts, lastRestart, now),
      ageOf(pod, now),
      textAt(address, "ip") || none,
      textAt(pod, "spec", "nodeName") || none,
      textAt(pod, "status", "nominatedNodeName") || none,
      gatesText(pod),
    ];
  },
  conditions(pod) {
    const message = endings[textAt(pod, "status", "phase")];
    if (message === undefined) return [];
    return [{ type: "Completed", status: "True", reason: textAt(pod, "status", "phase"), message }];
  },
};

const endings: Readonly<Record<string, string>> = {
  Succeeded: "The pod has completed successfully.",
  Failed: "The pod failed.",
};

interface Summary {
  status: string;
  ready: number;
  total: number;
  restarts: number;
  /** Empty when nothing was restarted. */
  lastRestart: string;
}

function summaryOf(pod: JsonObject): Summary {
  const sidecars = new Set(
    objectsAt(pod, "spec", "initContainers")
      .filter((container) => textAt(container, "restartPolicy") === "Always")
      .map((container) => textAt(container, "name")),
  );
  const summary: Summary = {
    status: phaseOf(pod),
    ready: 0,
    total: objectsAt(pod, "spec", "containers").length + sidecars.size,
    restarts: 0,
    lastRestart: "",
  };
  const isInitializing = addInitContainers(summary, pod, sidecars);
  if (!isInitializing || isConditionTrue(pod, "Initialized")) addContainers(summary, pod, sidecars);
  if (valueAt(pod, "metadata", "deletionTimestamp") !== undefined) {
    if (textAt(pod, "status", "reason") === "NodeLost") summary.status = "Unknown";
    else if (endings[textAt(pod, "status", "phase")] === undefined) summary.status = "Terminating";
  }
  return summary;
}

function phaseOf(pod: JsonObject): string {
  const isGated = objectsAt(pod, "status", "conditions").some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  if (isGated) return "SchedulingGated";
  return textAt(pod, "status", "reason") || textAt(pod, "status", "phase");
}

/** Goes as far as the first that is not done; whether there was one. */
function addInitContainers(
  summary: Summary,
  pod: JsonObject,
  sidecars: ReadonlySet<string>,
): boolean {
  const total = objectsAt(pod, "spec", "initContainers").length;
  for (const [index, container] of objectsAt(pod, "status", "initContainerStatuses").entries()) {
    addRestarts(summary, container);
    const terminated = objectAt(container, "state", "terminated");
    if (terminated !== undefined && (numberAt(terminated, "exitCode") ?? 0) === 0) continue;
    if (sidecars.has(textAt(container, "name")) && valueAt(container, "started") === true) {
      if (valueAt(container, "ready") === true) summary.ready += 1;
      continue;
    }
    const waiting = textAt(container, "state", "waiting", "reason");
    if (terminated !== undefined) summary.status = `Init:${endOf(terminated)}`;
    else if (waiting !== "" && waiting !== "PodInitializing") summary.status = `Init:${waiting}`;
    else summary.status = `Init:${index}/${total}`;
    return true;
  }
  return false;
}

/** Starts to count again: of the init containers only sidecars still matter. */
function addContainers(summary: Summary, pod: JsonObject, sidecars: ReadonlySet<string>): void {
  summary.restarts = 0;
  summary.lastRestart = "";
  for (const container of objectsAt(pod, "status", "initContainerStatuses")) {
    if (sidecars.has(textAt(container, "name"))) addRestarts(summary, container);
  }
  let hasRunning = false;
  let failure = "";
  for (const container of objectsAt(pod, "status", "containerStatuses").toReversed()) {
    addRestarts(summary, container);
    const waiting = textAt(container, "state", "waiting", "reason");
    const terminated = objectAt(container, "state", "terminated");
    if (waiting !== "") {
      summary.status = waiting;
    } else if (terminated !== undefined) {
      summary.status = endOf(terminated);
      if ((numberAt(terminated, "exitCode") ?? 0) !== 0) failure = summary.status;
    } else if (
      valueAt(container, "ready") === true &&
      objectAt(container, "state", "running") !== undefined
    ) {
      hasRunning = true;
      summary.ready += 1;
    }
  }
  if (summary.status !== "Completed") return;
  if (hasRunning && isConditionTrue(pod, "Ready")) summary.status = "Running";
  else if (failure !== "") summary.status = failure;
  else if (hasRunning) summary.status = "NotReady";
}

function addRestarts(summary: Summary, container: JsonObject): void {
  summary.restarts += numberAt(container, "restartCount") ?? 0;
  const finished = textAt(container, "lastState", "terminated", "finishedAt");
  // Timestamps of one form and one time zone sort as text.
  if (finished > summary.lastRestart) summary.lastRestart = finished;
}

function endOf(terminated: JsonObject): string {
  const signal = numberAt(terminated, "signal") ?? 0;
  const code = numberAt(terminated, "exitCode") ?? 0;
  return textAt(terminated, "reason") || (signal !== 0 ? `Signal:${signal}` : `ExitCode:${code}`);
}

function isConditionTrue(pod: JsonObject, type: string): boolean {
  const condition = objectsAt(pod, "status", "conditions").find((one) => one["type"] === type);
  return textAt(condition, "status") === "True";
}

function restartsText(restarts: number, last: string, now: WallMs): string {
  return restarts === 0 || last === "" ? String(restarts) : `${restarts} (${ageAt(last, now)} ago)`;
}

function gatesText(pod: JsonObject): string {
  const gates = objectsAt(pod, "spec", "readinessGates");
  if (gates.length === 0) return none;
  const passed = gates.filter((gate) => isConditionTrue(pod, textAt(gate, "conditionType")));
  return `${passed.length}/${gates.length}`;
}

export const podKind = defineKind({
  kind: "Pod",
  resource: "pods",
  shortNames: ["po"],
  categories: ["all"],
  namespaced: true,
  schema: "core.v1.Pod",
  columns: podColumns,
  returnsDeleted: true,
  subresources: ["status", "log", "proxy", "binding", "eviction"],
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

/** `podIP` and `podIPs[0]` are one fact in two fields; each is filled from the other. */
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

// Updates: little of the spec may change, and the status only to plausible values.

const changeable =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
  "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
  "(allow it to be set to 1 if it was previously negative)";

function validatePodUpdate(pod: KubeObject, current: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(pod, "spec") ?? {};
  const old = objectAt(current, "spec") ?? {};
  for (const field of ["containers", "initContainers"]) {
    if (objectsAt(spec, field).length !== objectsAt(old, field).length) {
      errors.forbidden(`spec.${field}`, "pod updates may not add or remove containers");
      return;
    }
  }
  if (!validateDeadline(spec, old, errors)) {
    return;
  }
  validateTolerations(spec, old, errors);
  if (!sameJson(fixedPart(spec, old), fixedPart(old, old))) {
    errors.forbidden("spec", `pod updates may not change fields other than ${changeable}\n`);
  }
}

function validatePodStatus(pod: KubeObject, current: KubeObject, errors: FieldErrors): void {
  for (const [index, { ip }] of objectsAt(pod, "status", "podIPs").entries()) {
    if (typeof ip !== "string" || !isIp(ip)) {
      errors.invalid(`status.podIPs[${index}]`, ip ?? "", invalidIpMessage);
    }
  }
  const before = textAt(current, "status", "qosClass");
  validateImmutable("status.qosClass", textAt(pod, "status", "qosClass"), before, errors);
}

/** It may be set, and lowered. False ends the validation. */
function validateDeadline(spec: JsonObject, old: JsonObject, errors: FieldErrors): boolean {
  const path = "spec.activeDeadlineSeconds";
  const wanted = numberAt(spec, "activeDeadlineSeconds");
  const before = numberAt(old, "activeDeadlineSeconds");
  if (wanted !== undefined && before !== undefined && before < wanted) {
    errors.invalid(path, wanted, "must be less than or equal to previous value");
    return false;
  }
  if (wanted === undefined && before !== undefined) {
    errors.invalid(path, null, "must not update from a positive integer to nil value");
  }
  return true;
}

/** Each stays as it is but for its seconds; others may join. */
function validateTolerations(spec: JsonObject, old: JsonObject, errors: FieldErrors): void {
  const kept = objectsAt(spec, "tolerations").map(withoutSeconds);
  const isChanged = objectsAt(old, "tolerations")
    .map(withoutSeconds)
    .some((one) => !kept.some((other) => sameJson(one, other)));
  if (isChanged) {
    const detail = "existing toleration can not be modified except its tolerationSeconds";
    errors.forbidden("spec.tolerations", detail);
  }
}

function withoutSeconds(toleration: JsonObject): JsonObject {
  return { ...toleration, tolerationSeconds: null };
}

/** The spec without the fields that an update may change. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const grace = "terminationGracePeriodSeconds";
  const isRepaired = (numberAt(old, grace) ?? 0) < 0 && numberAt(spec, grace) === 1;
  const withoutImages = (field: string): readonly JsonObject[] =>
    objectsAt(spec, field).map((container) => ({ ...container, image: "" }));
  return {
    ...spec,
    activeDeadlineSeconds: null,
    tolerations: null,
    schedulingGates: null,
    ...(isRepaired ? { [grace]: old[grace] } : {}),
    containers: withoutImages("containers"),
    initContainers: withoutImages("initContainers"),
  };
}

/** The admission plugin Priority, in a cluster without priority classes. */
function addDefaultPriority(pod: KubeObject): void {
  setDefaults(ensureObject(pod, "spec"), {
    preemptionPolicy: "PreemptLowerPriority",
    priority: 0,
  });
}

/** An update that leaves it out keeps it. */
function keepPriority(pod: KubeObject, current: KubeObject): void {
  const { preemptionPolicy, priority } = objectAt(current, "spec") ?? {};
  setDefaults(ensureObject(pod, "spec"), {
    ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    ...(priority === undefined ? {} : { priority }),
  });
}

// The admission plugin DefaultTolerationSeconds: a pod tolerates a node that is not ready or not
// reachable for five minutes, unless it has its own toleration. So pods of a dead node are deleted
// then.

/** plugin/pkg/admission/defaulttolerationseconds defaultNotReadyTolerationSeconds and its twin. */
const toleratedSeconds = 300;

const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

function addDefaultTolerations(pod: KubeObject): void {
  const spec = ensureObject(pod, "spec");
  const tolerations = objectsAt(spec, "tolerations");
  const missing = keys.filter((key) => !tolerations.some((one) => tolerates(one, key)));
  if (missing.length === 0) return;
  spec["tolerations"] = [
    ...tolerations,
    ...missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: toleratedSeconds,
    })),
  ];
}

function tolerates(toleration: JsonObject, key: string): boolean {
  const effect = textAt(toleration, "effect");
  const named = textAt(toleration, "key");
  return (named === key || named === "") && (effect === "NoExecute" || effect === "");
}
