// A proxy that sends requests to addresses that do not answer. This is the effect of a late hop, not
// its cause; which hop is late is measured with `lockstep watch` or `lockstep blame`.

import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { SignGroup } from "../evidence/sign-log.ts";
import { counted } from "../report/counted.ts";

const linesMin = 1;

export const deadEndpoints: Cause = {
  name: "dead-endpoints",
  summary:
    "A proxy sends requests to addresses that accept no connection. This is the effect of " +
    "a late or stuck hop, or of a pod that closes its port too early.",
  hop: "traffic",
  explains: [],

  signs(evidence) {
    return [...failures(evidence)];
  },

  conclude({ signs }) {
    const [address = ""] =
      (signs.get("upstream-refused") ?? signs.get("upstream-timeout"))?.topSubjects(1) ?? [];
    return {
      severity: "warning",
      cause:
        `The proxy sends requests to ${address}, which does not accept connections: a pod that ended, or ` +
        "one that closes its port before the proxy has stopped using it.",
      fix: {
        component: "the late hop",
        change:
          "lockstep blame --access-log access.log   # names the late hop of each failed request",
        reason:
          "If the pod ended seconds before: give it a preStop sleep longer than the leave lag. If it ended " +
          "minutes before: a hop is stuck, and a preStop does not help.",
      },
      missing: [
        "lockstep record, during the next release: without pod times the late hop is unknown",
      ],
    };
  },
};

/** If all of them belong to pods that exist and do not end, these pods refuse; no hop is late. */
function areOfRunningPods(groups: readonly SignGroup[], { objects }: Evidence): boolean {
  const running = [...objects.pods.values()].filter(
    ({ ready, isTerminating }) => ready !== false && !isTerminating,
  );
  const addresses = new Set(running.flatMap(({ ip }) => ip ?? []));
  const subjects = groups.flatMap((group) => [...group.subjects.keys()]);
  return subjects.every((subject) => addresses.has(subject.replace(/:\d+$/, "")));
}

function failures(evidence: Evidence): readonly Sign[] {
  const { signs } = evidence;
  const groups = [signs.get("upstream-refused"), signs.get("upstream-timeout")].flatMap((group) =>
    group === undefined || group.count < linesMin ? [] : [group],
  );
  const lines = groups.map((group) => {
    const were = group.count === 1 ? "was" : "were";
    const how = group.name === "upstream-refused" ? `${were} refused` : "timed out";
    const to =
      group.subjects.size === 1 ? group.topSubjects(1)[0] : `${group.subjects.size} addresses`;
    return group.evidence(`${counted(group.count, "connection")} to ${to} ${how}`);
  });
  if (lines.length === 0) return [];
  const weight = areOfRunningPods(groups, evidence) ? "support" : "proof";
  return [{ weight, source: "logs", lines }];
}
