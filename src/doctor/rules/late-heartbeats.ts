// A node whose heartbeats come later than the grace period of the controller manager. Each miss marks
// all pods of the node as not ready, so their endpoints leave, and come back seconds later.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { parseGoDuration } from "../../environment/go-duration.ts";
import type { Cause, Conclusion, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { Heartbeats } from "../evidence/observations.ts";
import { versionParts } from "../evidence/settings.ts";
import { placeText } from "../evidence/sign-log.ts";
import type { EvidenceLine } from "../finding.ts";
import type { HeartbeatGap } from "../fix-effect.ts";

/** A node that is silent for longer is down, not late. */
const lateMaxMs = 300_000;

/** A heartbeat comes each 10 s, so four of them fit into the grace period. */
const failedMin = 3;

/** A lease is tried again after 200 ms, then after twice the time, up to 7 s: this is the third failure in a row. */
const thirdRetryMs = 800;
const beforeRetryMin = 2;

/** A kubelet that starts is not ready once. */
const flapsMin = 3;

/** One node that becomes not ready is being restarted. */
const severalMin = 2;

/** Kubelets send a heartbeat each 10 s. */
const beatMs = 10_000;

/** Grace before 1.32, and since. */
const graceMs = { before: 40_000, since: 50_000 } as const;
const longerGraceMinor = 32;
const stepMs = 10_000;
const marginMs = 20_000;

export const lateHeartbeats: Cause = {
  name: "late-heartbeats",
  summary:
    "Heartbeats of a node come later than the grace period, or the kubelet reports itself " +
    "as not ready. All pods of the node lose their endpoints and get them back seconds " +
    "later.",
  affected:
    "All versions, current ones included; the default grace period is 50 s since 1.32, and 40 s before.",
  shownBy: ["heartbeats", "manager log", "kubelet log"],
  hop: "published",
  explains: ["dead-endpoints", "no-endpoints", "failing-probes"],

  signs(evidence) {
    return [
      ...silentNodes(evidence),
      ...observedGaps(evidence),
      ...markedPods(evidence),
      ...kubeletReports(evidence),
      ...lostZones(evidence),
      ...shortGrace(evidence),
    ];
  },

  conclude(evidence) {
    if (isSlowRuntime(evidence)) return slowRuntime;
    const zone = zoneAlone(evidence);
    if (zone !== undefined) return lostTogether(zone);
    const silent = evidence.signs.get("node-silent");
    const late = lateNodes(evidence);
    const wantedMs = graceFor(evidence);
    const observed = late.slice(0, 3).map(({ node }) => node);
    const nodes = (silent?.topSubjects(3) ?? observed).join(", ");
    return {
      severity: "critical",
      cause:
        `Heartbeats of ${nodes === "" ? "a node" : nodes} come later than the grace period of ` +
        `${durationText(currentGraceMs(evidence))}, so the controller manager marks all pods of the node ` +
        "as not ready and their endpoints leave, although the pods answer.",
      fix: {
        component: "kube-controller-manager",
        change: `--node-monitor-grace-period=${wantedMs / 1000}s`,
        reason:
          "A longer grace period covers the late heartbeats. It costs the same time when a node really " +
          `dies: its endpoints leave after ${durationText(wantedMs)}. Then find out why the kubelet is ` +
          "late: many containers or images on the node, a slow container runtime, a slow API server.",
      },
      missing: [
        "the kubelet's log of the node, and the log of the controller manager from before it",
        "kubectl get events -A --field-selector reason=NodeNotReady   # how often, and of which nodes",
      ],
    };
  },

  trial(evidence) {
    if (isSlowRuntime(evidence) || zoneAlone(evidence) !== undefined) return undefined;
    const fixed = { grace: `${graceFor(evidence) / 1000}s` };
    return { concerns: "nodes", fixed, gap: gapOf(evidence) };
  },
};

/** The grace period that covers the longest gap. */
function graceFor(evidence: Evidence): number {
  const longestMs = Math.max(longestGap(evidence), currentGraceMs(evidence));
  return Math.ceil((longestMs + marginMs) / stepMs) * stepMs;
}

function longestGap(evidence: Evidence): number {
  const silent = evidence.signs.get("node-silent")?.longest?.ms ?? 0;
  return Math.max(silent, lateNodes(evidence)[0]?.longestGapMs ?? 0);
}

/** The shortest one only if heartbeats were observed: a log has the late ones alone. */
function gapOf(evidence: Evidence): HeartbeatGap | undefined {
  const maxMs = longestGap(evidence);
  const shortest = lateNodes(evidence).map(({ shortestGapMs }) => shortestGapMs);
  const minMs = shortest.length === 0 ? beatMs : Math.min(...shortest);
  return maxMs > minMs ? { minMs, maxMs } : undefined;
}

function currentGraceMs({ settings }: Evidence): number {
  const flag = settings.flag("node-monitor-grace-period")?.value;
  const givenMs = flag === undefined ? undefined : parseGoDuration(flag);
  if (givenMs !== undefined) return givenMs;
  return defaultGraceMs(settings.version?.value);
}

/** `--node-monitor-grace-period` without the flag. */
export function defaultGraceMs(version: string | undefined): number {
  const isNew = version !== undefined && versionParts(version).minor >= longerGraceMinor;
  return isNew ? graceMs.since : graceMs.before;
}

/** A kubelet renews its lease each 10 s, so a grace of this length is over before the next renewal arrives. */
function shortGrace(evidence: Evidence): readonly Sign[] {
  const grace = evidence.settings.flag("node-monitor-grace-period");
  if (grace === undefined || currentGraceMs(evidence) > beatMs) return [];
  const text = `--node-monitor-grace-period=${grace.value}, and a kubelet renews its lease each ${durationText(beatMs)}`;
  return [
    { weight: "support", source: "flags", lines: [{ text, source: placeText(grace.place) }] },
  ];
}

/** The kubelet reports a slow runtime, and no heartbeat is known to be late. */
function isSlowRuntime(evidence: Evidence): boolean {
  return evidence.signs.get("pleg-unhealthy") !== undefined && longestGap(evidence) === 0;
}

/** The kubelet itself says that it is not ready, in a heartbeat that is in time. */
const slowRuntime: Conclusion = {
  severity: "critical",
  cause:
    "The kubelet of a node reports itself as not ready, because its container runtime does not list the " +
    "containers in time. All pods of the node lose their endpoints, although they may answer.",
  fix: {
    component: "the container runtime of the node",
    change: "crictl ps -aq | wc -l; journalctl -u containerd -u docker --since -1h   # on the node",
    reason:
      "A longer grace period does not help, because the heartbeats are in time. Look for a runtime that " +
      "hangs, slow disks, and many containers: remove exited ones, or restart the runtime.",
  },
  missing: ["the log of the container runtime of the node, for the reason"],
};

function silentNodes(evidence: Evidence): readonly Sign[] {
  const { signs } = evidence;
  const silent = signs.get("node-silent");
  const marked = signs.get("node-not-ready");
  const longestMs = silent?.longest?.ms ?? 0;
  if (silent === undefined || longestMs > lateMaxMs) return [];
  if ([...silent.subjects.keys()].every((node) => isNotLate(evidence, node))) return [];
  const nodes =
    silent.subjects.size === 1
      ? `node ${silent.topSubjects(1)[0]}`
      : `${silent.subjects.size} nodes`;
  const text = `no heartbeat of ${nodes} for up to ${durationText(longestMs)} (${counted(silent.count, "line")})`;
  const lines = [silent.evidence(text)];
  if (marked !== undefined) {
    lines.push(
      marked.evidence(`${counted(marked.count, "time")} a node was recorded as not ready`),
    );
  }
  return [{ weight: "proof", source: "logs", lines }];
}

/** One long gap is a restart of the node. */
const longGapsMin = 2;

/**
 * Its heartbeats were observed: they came in time, or none came. A node without any is down, not late.
 * A single heartbeat after a long gap is a restart too, unless the node became not ready again and again.
 * A late kubelet leaves its containers running, so a node whose containers have started again was restarted.
 */
function isNotLate({ objects, signs }: Evidence, node: string): boolean {
  const beats = objects.observed.heartbeats.get(node);
  if (beats === undefined || beats.longGaps >= longGapsMin) return false;
  if (objects.observed.restarted.has(node)) return true;
  const isRestart = beats.count > 0 && beats.count === beats.longGaps;
  return !isRestart || (signs.get("node-not-ready")?.subjects.get(node) ?? 0) < flapsMin;
}

/** Nodes whose heartbeats came again after the grace period; the latest first. */
function lateNodes(evidence: Evidence): readonly Heartbeats[] {
  const graceMs = currentGraceMs(evidence);
  return [...evidence.objects.observed.heartbeats.values()]
    .filter(({ longestGapMs }) => longestGapMs > graceMs && longestGapMs <= lateMaxMs)
    .filter(({ longGaps }) => longGaps >= longGapsMin)
    .sort((a, b) => b.longestGapMs - a.longestGapMs);
}

function observedGaps(evidence: Evidence): readonly Sign[] {
  const late = lateNodes(evidence);
  const [first] = late;
  if (first === undefined) return [];
  const nodes = late.length === 1 ? `node ${first.node}` : `${late.length} nodes`;
  const text = `between two heartbeats of ${nodes} were up to ${durationText(first.longestGapMs)}`;
  const lines = [{ text, source: placeText(first.place) }];
  return [{ weight: "proof", source: "objects", lines }];
}

/** Ready is false although all containers are ready: the controller wrote it, not the kubelet. */
function markedPods(evidence: Evidence): readonly Sign[] {
  const { objects, signs } = evidence;
  const unknown = [...objects.nodes.values()].filter(
    ({ name, ready }) => ready === "Unknown" && !isNotLate(evidence, name),
  );
  const pods = [...objects.pods.values()].filter(
    ({ ready, containersReady }) => ready === false && containersReady === true,
  );
  const lines = [
    ...unknown.slice(0, 2).map(({ name, reason, place }) => ({
      text: `node ${name} is Unknown${reason === undefined ? "" : ` (${reason})`}`,
      source: placeText(place),
    })),
    ...pods.slice(0, 2).map(({ key, place }) => ({
      text: `pod ${key} is not ready although all its containers are`,
      source: placeText(place),
    })),
  ];
  if (lines.length === 0) return [];
  const isMarked = unknown.length > 0 && pods.length > 0 && signs.get("node-silent") === undefined;
  return [{ weight: isMarked ? "proof" : "support", source: "objects", lines }];
}

interface ZoneLosses {
  readonly zone: string;
  readonly times: number;
  readonly line: EvidenceLine;
}

const zoneLossesMin = 2;

/** Lost and back, again and again. A controller manager that starts reports the state of each zone once. */
function flappingZone({ signs }: Evidence): ZoneLosses | undefined {
  const lost = signs.get("zone-lost");
  const back = signs.get("zone-back");
  const [most] = [...(lost?.subjects ?? [])]
    .filter(([name, times]) => times >= zoneLossesMin && back?.subjects.has(name) === true)
    .sort(([, a], [, b]) => b - a);
  if (lost === undefined || most === undefined) return undefined;
  const [zone, times] = most;
  const text = `most nodes of the zone ${zone} became not ready and came back, ${counted(times, "time")}`;
  return { zone, times, line: lost.evidence(text) };
}

/** No node is known to be later than the others. */
function zoneAlone(evidence: Evidence): ZoneLosses | undefined {
  return longestGap(evidence) === 0 ? flappingZone(evidence) : undefined;
}

function lostZones(evidence: Evidence): readonly Sign[] {
  const found = flappingZone(evidence);
  return found === undefined ? [] : [{ weight: "proof", source: "logs", lines: [found.line] }];
}

/** Nodes that are late together are seldom slow themselves. */
function lostTogether({ zone }: ZoneLosses): Conclusion {
  return {
    severity: "critical",
    cause:
      `Most nodes of the zone ${zone} are late with their heartbeats at the same time, so the endpoints of all ` +
      "their pods leave and come back.",
    fix: {
      component: "the way from the nodes to the API servers",
      change: [
        "kubectl get leases -n kube-node-lease -w   # which nodes stop, and when?",
        "journalctl -u kubelet --since -1h | grep -iE 'node status|node lease'   # on one of them: the error",
      ].join("\n"),
      reason:
        "Nodes that are late together have the same reason: the load balancer of the API servers, the network of " +
        "the zone, or a slow API server. A longer --node-monitor-grace-period only covers it.",
    },
    missing: [
      "the log of a kubelet of the zone, and those of the API servers, of the same minutes",
    ],
  };
}

/** The kubelet's own log and the events of the node: it is not ready, or its heartbeats fail. */
function kubeletReports(evidence: Evidence): readonly Sign[] {
  const { signs } = evidence;
  const pleg = signs.get("pleg-unhealthy");
  const failed = signs.get("node-status-failed");
  const marked = signs.get("node-not-ready");
  const proofs: EvidenceLine[] = [];
  const supports: EvidenceLine[] = [];
  if (pleg !== undefined) {
    const text = `the kubelet did not list its containers for ${durationText(pleg.longest?.ms ?? 0)}`;
    proofs.push(pleg.evidence(text));
  }
  if (failed !== undefined) {
    const line = failed.evidence(
      `${counted(failed.count, "heartbeat")} of a kubelet got no answer`,
    );
    const isInARow = failed.count >= beforeRetryMin && (failed.longest?.ms ?? 0) >= thirdRetryMs;
    (failed.count >= failedMin || isInARow ? proofs : supports).push(line);
  }
  const [node = ""] = marked?.topSubjects(1) ?? [];
  if (marked !== undefined && marked.count >= severalMin && !isNotLate(evidence, node)) {
    const isFlapping = marked.mostOfOne >= flapsMin;
    const text = isFlapping
      ? `${node} became not ready ${counted(marked.mostOfOne, "time")}`
      : `${counted(marked.count, "time")} a node was recorded as not ready`;
    (isFlapping ? proofs : supports).push(marked.evidence(text));
  }
  const returned = signs.get("node-returned");
  if (returned !== undefined) {
    const text = `${returned.topSubjects(1)[0] ?? "a node"} was Unknown and came back ${counted(returned.mostOfOne, "time")}`;
    (returned.mostOfOne >= flapsMin ? proofs : supports).push(returned.evidence(text));
  }
  return [
    ...(proofs.length === 0 ? [] : [{ weight: "proof", source: "logs", lines: proofs } as const]),
    ...(supports.length === 0
      ? []
      : [{ weight: "support", source: "logs", lines: supports } as const]),
  ];
}
