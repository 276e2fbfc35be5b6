// A controller or a client that works with a cache which is behind: its informer still shows an object
// that it has replaced, or the API server that it asks is behind another one.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { type Cause, logCause } from "../cause.ts";
import type { ApiServerFacts } from "../evidence/api-servers.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { givenUp } from "../evidence/log-signs.ts";
import { isPublishedSoon } from "../evidence/published-lag.ts";
import { versionParts } from "../evidence/settings.ts";
import { placeText, type SignGroup } from "../evidence/sign-log.ts";

/** The guard against stale caches of 1.28 to 1.31 could get stuck (issue 127370); fixed from here on. */
const fixedPatch: Readonly<Record<number, number>> = { 28: 15, 29: 10, 30: 6, 31: 2 };

/** A log may show it, and the caches of API servers that were asked one by one. */
const byLog = logCause({
  name: "stale-cache",
  summary:
    "A cache of a controller, or of an API server, is behind. The controller refuses to publish from " +
    "it, or a client waits for a state that this API server does not have yet.",
  affected:
    "All versions, current ones included; some patch releases of 1.28 to 1.31 could also stay in this state.",
  shownBy: ["server caches", "published changes", "manager log"],
  hop: "published",
  explains: ["broken-watches", "slow-requests", "dead-endpoints"],
  sign: "cache-behind",
  linesMin: 3,
  isEnough: isStuck,
  isProved: ({ details }) => details.has(givenUp),
  text: (group) =>
    `${counted(group.count, "time")} a cache was behind (${group.topSubjects(1)[0] ?? ""} ${group.samples[0]?.detail ?? ""})`,
  conclude(group, { settings, journeys }) {
    const isServer = group.samples.some(({ detail }) => /resource version/i.test(detail));
    const version = settings.version?.value;
    const { minor, patch } = versionParts(version ?? "0.0");
    const fixed = fixedPatch[minor];
    const isAffected = fixed !== undefined && (patch === undefined || patch < fixed);
    return isServer
      ? {
          severity: "warning",
          cause:
            "An API server is behind another one: it does not have the state yet that a client has seen " +
            "elsewhere, so the client gets no list and keeps its old one.",
          fix: {
            component: "kube-apiserver",
            change:
              "kubectl get --raw '/readyz?verbose'   # on each API server; restart the one that is behind",
            reason:
              "A watch cache follows etcd. It is behind when its etcd member is slow or cut off, and, before " +
              "1.20, for kinds without changes. Clients before 1.19 do not recover by themselves: restart them.",
          },
        }
      : {
          // During a rollout the controller is behind its own writes for moments, and tries again.
          severity: journeys !== undefined && isPublishedSoon(journeys) ? "info" : "warning",
          cause:
            "The endpoint controller works with a cache that is behind its own writes, so it does not " +
            "publish changes of the service.",
          fix: {
            component: "kube-controller-manager",
            change: isAffected
              ? "upgrade to 1.28.15, 1.29.10, 1.30.6, 1.31.2 or newer"
              : "# restart the controller manager that leads; if it stays, the API server that it uses",
            reason:
              "The controller waits until its cache shows its own last write. It stays in this state when " +
              "the watch is stalled, and in 1.28 to 1.31 also after a write that changed nothing.",
          },
          missing: version === undefined ? ["kubectl version   # is the version affected?"] : [],
        };
  },
});

export const staleCache: Cause = {
  ...byLog,

  signs(evidence) {
    const behind = serversBehind(evidence);
    const [first] = behind;
    if (first === undefined) return byLog.signs(evidence);
    const lines = behind.map(({ address, object = "", behindMs, place }) => ({
      text: `the cache of API server ${address} has a ${object} that is ${durationText(behindMs)} older than the stored one`,
      source: placeText(place),
    }));
    return [{ weight: "proof", source: "objects", lines }, ...byLog.signs(evidence)];
  },

  conclude(evidence) {
    const behind = serversBehind(evidence);
    if (behind.length === 0) return byLog.conclude(evidence);
    const [first] = behind;
    const addresses = behind.map(({ address }) => address).join(", ");
    return {
      severity: "critical",
      cause:
        `The cache of API server ${addresses} is behind what is stored, by ${durationText(first?.behindMs ?? 0)}. ` +
        "Each controller, proxy and ingress that watches there sees endpoints late.",
      fix: {
        component: `kube-apiserver at ${addresses}`,
        change: `kubectl get --raw '/readyz?verbose' --server https://${first?.address ?? ""}   # then restart this API server`,
        reason:
          "A watch cache follows etcd. It is behind when its etcd member is slow or cut off. Its clients do not " +
          "notice: their watches stay open, and bookmarks continue with old versions.",
      },
    };
  },
};

/** The most first. */
function serversBehind({ objects }: Evidence): readonly ApiServerFacts[] {
  return objects.apiServers.all
    .filter(({ behindMs }) => behindMs > 0)
    .sort((a, b) => b.behindMs - a.behindMs);
}

/** A busy service is retried once or twice after each write; then its cache has caught up. */
const retriesMin = 4;

/** Lines without a version are retries of one write only if they are this close together. */
const denseMs = 2_000;

/** A cache that catches up after a burst of writes does so within milliseconds. */
const lastingMs = 2_000;

function isStuck({ subjects, count, details, spanMs, mostOfOne, timesMs }: SignGroup): boolean {
  const isSameVersion = [...subjects].some(
    ([subject, times]) => subject.includes(" at version ") && times >= retriesMin,
  );
  const hasVersions = [...subjects.keys()].some((subject) => subject.includes(" at version "));
  const isLasting = timesMs.length === 0 || spanMs >= lastingMs;
  const isDense = !hasVersions && isLasting && mostOfOne >= retriesMin && spanMs <= denseMs * count;
  const isSettled = details.has("Too large resource version") || details.has(givenUp);
  return isSameVersion || isDense || isSettled;
}
