// What a Table shows of a pod. STATUS is one word for the state of all its containers: the first
// init container that is not done decides, or else the last container that has something to say.
import type { WallMs } from "../../environment/clock.ts";
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  valueAt,
} from "../kinds/fields.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  textColumn,
  wideColumn,
} from "./columns.ts";
import { ageAt } from "./human-duration.ts";

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

/** Counts anew: of the init containers only those that run beside the others still matter. */
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
