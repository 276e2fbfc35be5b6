// A proxy that sends requests to addresses that do not answer. This is the effect of a late hop, not
// its cause; which hop is late is measured with `lockstep watch` or `lockstep blame`.

import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { counted } from "../report/counted.ts";

const linesMin = 1;

export const deadEndpoints: Cause = {
  name: "dead-endpoints",
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

function failures({ signs }: Evidence): readonly Sign[] {
  const groups = [signs.get("upstream-refused"), signs.get("upstream-timeout")].flatMap((group) =>
    group === undefined || group.count < linesMin ? [] : [group],
  );
  const lines = groups.map((group) => {
    const how = group.name === "upstream-refused" ? "were refused" : "timed out";
    const to =
      group.subjects.size === 1 ? group.topSubjects(1)[0] : `${group.subjects.size} addresses`;
    return group.evidence(`${counted(group.count, "connection")} to ${to} ${how}`);
  });
  return lines.length === 0 ? [] : [{ weight: "proof", source: "logs", lines }];
}
