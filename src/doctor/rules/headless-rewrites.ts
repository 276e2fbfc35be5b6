// The endpoint controllers of 1.16 to 1.19 add a label to the Endpoints of headless services and then
// compare labels without it. So each sync of such a service is a write that changes nothing, and each
// informer resync writes all of them. Real changes wait behind these writes.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { publishedLag } from "../evidence/published-lag.ts";
import { versionParts } from "../evidence/settings.ts";
import { placeText } from "../evidence/sign-log.ts";
import { lateQueues, logTimeText, resyncPeriod, triggerOf, waves } from "./endpoint-backlog.ts";
import { idleWriters } from "./no-op-writes.ts";

/** First patch release with the correction (PR 94112); 1.16 was never corrected. */
const fixedPatch: Readonly<Record<number, number>> = {
  16: Number.POSITIVE_INFINITY,
  17: 13,
  18: 10,
  19: 3,
};

/** For those that were never corrected. */
const correctedRelease = "1.20.0";

const headlessLabel = "service.kubernetes.io/headless";

/** Nearly all, and nearly none. */
const most = 0.8;
const few = 0.2;

/** Of services that are not headless, to see that they are not written. */
const othersMin = 10;

/** With and without service accounts of their own. */
const controllers =
  /^system:(?:serviceaccount:kube-system:endpoint-controller|kube-controller-manager)$/;

/** Quiet controllers publish within milliseconds. */
const lateMs = 1_000;

const hourMs = 3_600_000;

const defaults = { qps: 20, burst: 30 } as const;

export const headlessRewrites: Cause = {
  name: "headless-rewrites",
  summary:
    "The endpoint controller of 1.16 to 1.19 rewrites the Endpoints of every headless " +
    "service at each resync, although nothing changed. Real changes wait behind these " +
    "writes.",
  affected:
    "Not current versions: only 1.16, and 1.17, 1.18 and 1.19 before 1.17.13, 1.18.10 and 1.19.3.",
  shownBy: ["version", "headless services", "audit log"],
  hop: "published",
  explains: [],

  /** A storm that is only possible, or still to come, explains nothing that was seen. */
  explainsToo(evidence) {
    const isProved = signsOf(evidence).some(({ weight }) => weight === "proof");
    return isProved && isUnderWay(evidence)
      ? ["client-throttling", "endpoint-backlog", "no-op-writes", "dead-endpoints"]
      : [];
  },

  signs: signsOf,

  conclude(evidence) {
    const services = headlessCount(evidence);
    const qps = Number(evidence.settings.flag("kube-api-qps")?.value ?? defaults.qps);
    const burst = Number(evidence.settings.flag("kube-api-burst")?.value ?? defaults.burst);
    const drainMs = (Math.max(0, services - burst) / qps) * 1000;
    const drain =
      services === 0
        ? ""
        : ` With ${services} headless services and ${qps} requests/s one resync takes ${durationText(drainMs)}.`;
    const isActive = isUnderWay(evidence);
    const cause = isActive
      ? `Each informer resync (${periodText(evidence)}) rewrites the Endpoints of every headless service ` +
        `although nothing changed, and real changes wait behind these writes.${drain}`
      : "The next informer resync will rewrite the Endpoints of every headless service although nothing " +
        `changed, ${nextText(evidence)}; real changes will wait behind these writes.${drain}`;
    return {
      severity: isActive ? "critical" : "warning",
      cause,
      fix: {
        component: "kube-controller-manager",
        change: "upgrade to 1.17.13, 1.18.10, 1.19.3, 1.20.0 or newer",
        reason:
          "These releases compare labels without the one that the controller adds. Until then " +
          "--kube-api-qps=100 --kube-api-burst=120 shortens each resync; more workers alone do not: " +
          "they share the limit.",
      },
      missing:
        evidence.settings.version === undefined
          ? ["kubectl version   # is the server affected?"]
          : [],
    };
  },

  trial(evidence) {
    const { minor } = versionParts(evidence.settings.version?.value ?? "0.0");
    const patch = fixedPatch[minor] ?? Number.POSITIVE_INFINITY;
    const version = Number.isFinite(patch) ? `1.${minor}.${patch}` : correctedRelease;
    return { concerns: "publishing", fixed: { version }, headless: headlessCount(evidence) };
  },
};

function signsOf(evidence: Evidence): readonly Sign[] {
  const affected = versionSign(evidence);
  // A corrected version rules it out; no version leaves it open.
  if (affected?.weight === "against") return [affected];
  const seen = [...labels(evidence), ...writes(evidence), ...audited(evidence)];
  return affected === undefined || seen.length === 0 ? seen : [affected, ...seen];
}

/** Whether the effect was seen; otherwise it is still to come. Writes after a change of many pods are real. */
function isUnderWay(evidence: Evidence): boolean {
  if (audited(evidence).length > 0) return true;
  if (triggerOf(evidence).type === "mass change") return false;
  return (
    writes(evidence).length > 0 ||
    evidence.signs.get("endpoints-throttled") !== undefined ||
    lateQueues(evidence).length > 0 ||
    isPublishedLate(evidence)
  );
}

function isPublishedLate({ journeys }: Evidence): boolean {
  if (journeys === undefined) return false;
  return (["leave", "join"] as const).some(
    (direction) => (publishedLag(journeys, direction)?.medianMs ?? 0) >= lateMs,
  );
}

/** `every 12 to 24 h`, or `every 16 h, the next one at about 03-03 03:10` where two were seen. */
function periodText(evidence: Evidence): string {
  const trigger = triggerOf(evidence);
  if (trigger.type !== "resync") return `every ${rangeText(evidence)}`;
  const next = logTimeText(trigger.lastMs + trigger.periodMs);
  return `every ${durationText(trigger.periodMs)}, the next one at about ${next} on the clock of the log`;
}

/** The controller manager draws its period when it starts. */
function nextText(evidence: Evidence): string {
  const { minMs, maxMs } = resyncPeriod(evidence);
  if (minMs === 0) return "when a controller manager starts";
  const started = evidence.signs.get("controller-started")?.timesMs.at(-1);
  if (started === undefined)
    return `${rangeText(evidence)} after the start of the controller manager`;
  return `between ${logTimeText(started + minMs)} and ${logTimeText(started + maxMs)} on the clock of the log`;
}

/** `12 to 24 h`. */
function rangeText(evidence: Evidence): string {
  const { minMs, maxMs } = resyncPeriod(evidence);
  const isHours = minMs % hourMs === 0;
  return `${isHours ? minMs / hourMs : durationText(minMs)} to ${isHours ? `${maxMs / hourMs} h` : durationText(maxMs)}`;
}

function versionSign({ settings }: Evidence): Sign | undefined {
  const version = settings.version;
  if (version === undefined) return undefined;
  const { minor, patch } = versionParts(version.value);
  const fixed = fixedPatch[minor];
  const isAffected = fixed !== undefined && (patch === undefined || patch < fixed);
  const text = `Kubernetes ${version.value} ${isAffected ? "has" : "does not have"} this bug`;
  const lines = [{ text, source: placeText(version.place) }];
  return { weight: isAffected ? "support" : "against", source: "flags", lines };
}

/** The label is on the Endpoints and not on the service. */
function labels(evidence: Evidence): readonly Sign[] {
  const { objects } = evidence;
  const differing = [...objects.services.values()].filter(
    ({ key, isHeadless, selector, labels: own }) =>
      isHeadless &&
      Object.keys(selector).length > 0 &&
      !(headlessLabel in own) &&
      headlessLabel in (objects.endpoints.get(key)?.labels ?? {}),
  );
  const [first] = differing;
  if (first === undefined) return [];
  const text =
    `${counted(differing.length, "headless service")} whose ` +
    `Endpoints have the label ${headlessLabel} and which do not (${first.key})`;
  const isAffected = versionSign(evidence)?.weight === "support";
  return [
    {
      weight: isAffected ? "proof" : "support",
      source: "objects",
      lines: [{ text, source: placeText(first.place) }],
    },
  ];
}

/**
 * A wave of writes is a sign of these rewrites if no change explains it: new services are created, and pods of
 * lost nodes change what is written. It is a proof if it comes with each resync, or spares all other services.
 */
function writes(evidence: Evidence): readonly Sign[] {
  const group = evidence.signs.get("endpoints-written");
  const [wave] = waves(evidence);
  if (group === undefined || wave === undefined) return [];
  const trigger = triggerOf(evidence);
  const updates = group.details.get("PUT") ?? 0;
  if (updates < most * group.count || trigger.type === "mass change") return [];
  const spared = onlyHeadless(group.subjects, evidence);
  if (spared === "no") return [];
  const isProof =
    (spared === "yes" || trigger.type === "resync") && versionSign(evidence)?.weight === "support";
  const which =
    spared === "yes" ? "headless services, and of no other ones," : "different services";
  const text = `${wave.writes} writes of Endpoints of ${which} within ${durationText(wave.toMs - wave.fromMs)}`;
  return [{ weight: isProof ? "proof" : "support", source: "logs", lines: [group.evidence(text)] }];
}

/** Of the services that are known. */
function onlyHeadless(
  written: ReadonlyMap<string, number>,
  { objects }: Evidence,
): "yes" | "no" | "unknown" {
  const keys = new Set(
    [...written.keys()].map((path) => {
      const [, namespace, name] = /\/namespaces\/([^/]+)\/endpoints\/([^/?]+)/.exec(path) ?? [];
      return `${namespace}/${name}`;
    }),
  );
  const selected = [...objects.services.values()].filter(
    ({ selector }) => Object.keys(selector).length > 0,
  );
  const shareOf = (isHeadless: boolean): { share: number; count: number } => {
    const alike = selected.filter((service) => service.isHeadless === isHeadless);
    const share = alike.filter(({ key }) => keys.has(key)).length / Math.max(1, alike.length);
    return { share, count: alike.length };
  };
  const [headless, others] = [shareOf(true), shareOf(false)];
  if (others.count < othersMin) return "unknown";
  if (others.share > few) return "no";
  return headless.count > 0 && headless.share >= most ? "yes" : "unknown";
}

/** The controller's own writes in the audit log, which changed nothing. */
function audited(evidence: Evidence): readonly Sign[] {
  const writer = idleWriters(evidence).find(
    ({ user, resources }) => controllers.test(user) && resources.has("endpoints"),
  );
  if (writer === undefined) return [];
  const { noOps, noOpObjects, user, place } = writer;
  const text = `${noOps} writes of ${noOpObjects.size} Endpoints by ${user} changed nothing`;
  const lines = [{ text, source: placeText(place) }];
  const isProof = versionSign(evidence)?.weight === "support";
  return [{ weight: isProof ? "proof" : "support", source: "logs", lines }];
}

/** Written services are counted only where the writes are known to be of headless ones. */
function headlessCount(evidence: Evidence): number {
  const { objects, signs } = evidence;
  const known = [...objects.services.values()].filter(({ isHeadless }) => isHeadless).length;
  const isWritten = writes(evidence).some(({ weight }) => weight === "proof");
  const written = isWritten ? (signs.get("endpoints-written")?.subjects.size ?? 0) : 0;
  return Math.max(known > 1 ? known : 0, written);
}
