// The endpoint controller up to 1.7 reads each Endpoints object from the API server at each sync, and
// syncs every service every 30 s. So some hundred services use up its limit for ever.

import { counted } from "../../environment/counted.ts";
import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { versionParts } from "../evidence/settings.ts";
import { placeText } from "../evidence/sign-log.ts";

/** PR 47731 ended both. */
const fixedMinor = 8;

/** A service is synced each 30 s, with a limit of 20 requests a second. */
const resyncSeconds = 30;
const defaultQps = 20;

const linesMin = 3;

export const perSyncGet: Cause = {
  name: "per-sync-get",
  summary:
    "Up to 1.7 the endpoint controller reads each Endpoints object at each sync, and syncs all " +
    "services every 30 s. Some hundred services use up its request limit.",
  affected: "Not current versions: only up to 1.7.",
  shownBy: ["version up to 1.7", "manager log"],
  hop: "published",
  explains: [],

  signs(evidence) {
    const { version } = evidence.settings;
    const group = evidence.signs.get("endpoints-throttled");
    const reads = group?.details.get("GET") ?? 0;
    if (version === undefined || group === undefined || reads < linesMin) return [];
    if (versionParts(version.value).minor >= fixedMinor) return [];
    const text = `${counted(reads, "throttled read")} of a single Endpoints object`;
    const old = `Kubernetes ${version.value} reads each object at each sync`;
    return [
      { weight: "proof", source: "logs", lines: [group.evidence(text)] },
      {
        weight: "support",
        source: "flags",
        lines: [{ text: old, source: placeText(version.place) }],
      },
    ];
  },

  conclude({ settings }: Evidence) {
    const qps = Number(settings.flag("kube-api-qps")?.value ?? defaultQps);
    return {
      severity: "warning",
      cause: `The endpoint controller reads each Endpoints object at each sync, every 30 s, so more than ${qps * resyncSeconds} services use up its limit of ${qps} requests/s for ever.`,
      fix: {
        component: "kube-controller-manager",
        change: "upgrade to 1.8 or newer; until then --kube-api-qps=300 --kube-api-burst=325",
        reason: "1.8 reads from its cache and no longer syncs all services every 30 s.",
      },
    };
  },

  trial: () => ({ concerns: "publishing", fixed: { version: "1.8.0" } }),
};
