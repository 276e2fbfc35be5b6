// A proxy that needs many seconds to reload its configuration. Changes that need a reload, and in old
// controllers each endpoint change, are used that much later.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";

/** ingress-nginx waits a second between reloads, and a reload takes some hundred milliseconds. */
const slowMs = 5_000;
const reloadsMin = 3;

/** A success this late belongs to another reload. */
const pairMaxMs = 600_000;

export const slowReloads: Cause = {
  name: "slow-reloads",
  summary:
    "The proxy needs many seconds from a change to the reloaded configuration. Routes, and in old " +
    "controllers endpoints, are used that much later.",
  affected:
    "It depends on the ingress controller; since ingress-nginx 0.12 endpoints alone need no reload.",
  shownBy: ["proxy log"],
  hop: "routed",
  explains: [],

  signs(evidence) {
    const lags = reloadLags(evidence);
    const group = evidence.signs.get("proxy-reload");
    if (group === undefined || lags.length < reloadsMin || medianOf(lags) < slowMs) return [];
    const text = `${counted(lags.length, "reload")}: a median of ${durationText(medianOf(lags))} from the change to the reload`;
    return [{ weight: "proof", source: "logs", lines: [group.evidence(text)] }];
  },

  conclude(evidence) {
    const lagText = durationText(medianOf(reloadLags(evidence)));
    return {
      severity: "warning",
      cause: `The ingress controller needs ${lagText} to test and reload its configuration, so changes of routes are used that late.`,
      fix: {
        component: "ingress-nginx",
        change: "worker-shutdown-timeout: 240s   # and fewer hosts and snippets in one controller",
        reason:
          "The time grows with the number of hosts, certificates and snippets. Endpoint changes need no " +
          "reload since ingress-nginx 0.12 (dynamic configuration), if it is not turned off.",
      },
    };
  },
};

/** From each request for a reload to the next success. */
function reloadLags({ signs }: Evidence): readonly number[] {
  const wanted = [...(signs.get("reload-required")?.timesMs ?? [])].sort((a, b) => a - b);
  const done = [...(signs.get("proxy-reload")?.timesMs ?? [])].sort((a, b) => a - b);
  let next = 0;
  return wanted.flatMap((at) => {
    while (next < done.length && (done[next] ?? 0) < at) next += 1;
    const lagMs = (done[next] ?? Number.POSITIVE_INFINITY) - at;
    return lagMs <= pairMaxMs ? [lagMs] : [];
  });
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
