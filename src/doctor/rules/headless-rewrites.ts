// The endpoint controllers of 1.16 to 1.19 add a label to the Endpoints of headless services and then
// compare labels without it. So each sync of such a service is a write that changes nothing, and each
// informer resync writes all of them. Real changes wait behind these writes.

import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { publishedLag } from "../evidence/published-lag.ts";
import { versionParts } from "../evidence/settings.ts";
import { placeText } from "../evidence/sign-log.ts";
import { counted } from "../report/counted.ts";
import { lateQueues } from "./endpoint-backlog.ts";
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

/** A rollout writes dozens; a resync writes each service once. */
const writesMin = 200;

/** A rollout writes the same services again and again. */
const onceEach = 0.8;

/** With and without service accounts of their own. */
const controllers =
  /^system:(?:serviceaccount:kube-system:endpoint-controller|kube-controller-manager)$/;

/** Quiet controllers publish within milliseconds. */
const lateMs = 1_000;

const defaults = { qps: 20, burst: 30 } as const;

export const headlessRewrites: Cause = {
  name: "headless-rewrites",
  summary:
    "The endpoint controller of 1.16 to 1.19 rewrites the Endpoints of every headless " +
    "service at each resync, although nothing changed. Real changes wait behind these " +
    "writes.",
  hop: "published",
  explains: ["client-throttling", "endpoint-backlog", "no-op-writes", "dead-endpoints"],

  signs(evidence) {
    const affected = versionSign(evidence);
    // A corrected version rules it out; no version leaves it open.
    if (affected?.weight === "against") return [affected];
    const seen = [...labels(evidence), ...writes(evidence), ...audited(evidence)];
    return affected === undefined || seen.length === 0 ? seen : [affected, ...seen];
  },

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
      ? "Each informer resync (every 12 to 24 h) rewrites the Endpoints of every headless service " +
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

/** Whether the effect was seen; otherwise it is still to come. */
function isUnderWay(evidence: Evidence): boolean {
  return (
    evidence.signs.get("endpoints-written") !== undefined ||
    evidence.signs.get("endpoints-throttled") !== undefined ||
    audited(evidence).length > 0 ||
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

/** The controller manager draws its period when it starts: 12 h, times 1 to 2. */
function nextText({ signs }: Evidence): string {
  const started = signs.get("controller-started")?.timesMs.at(-1);
  if (started === undefined) return "12 to 24 h after the start of the controller manager";
  const [from, to] = [12, 24].map((hours) =>
    new Date(started + hours * 3_600_000).toISOString().slice(5, 16).replace("T", " "),
  );
  return `between ${from} and ${to} on the clock of the log`;
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

/** Nearly as many writes as different services: each was written once. */
function writes(evidence: Evidence): readonly Sign[] {
  const group = evidence.signs.get("endpoints-written");
  if (group === undefined || group.count < writesMin) return [];
  const text = `${group.count} writes of Endpoints within ${durationText(group.spanMs)}`;
  const isOnceEach = group.subjects.size > onceEach * group.count;
  const isProof = isOnceEach && versionSign(evidence)?.weight === "support";
  return [{ weight: isProof ? "proof" : "support", source: "logs", lines: [group.evidence(text)] }];
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

function headlessCount({ objects, signs }: Evidence): number {
  const known = [...objects.services.values()].filter(({ isHeadless }) => isHeadless).length;
  return Math.max(known > 1 ? known : 0, signs.get("endpoints-written")?.subjects.size ?? 0);
}
