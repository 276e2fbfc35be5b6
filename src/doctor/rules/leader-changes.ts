// A component that loses its leader lock again and again: nothing is done while no instance leads.

import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const leaderChanges = logCause({
  name: "leader-changes",
  hop: "published",
  sign: "leader-lost",
  linesMin: 3,
  text: ({ count, programs }) =>
    `${counted(count, "failure")} to keep a leader lock${programs.size === 0 ? "" : ` (${[...programs.keys()].join(", ")})`}`,
  conclude: (group) => ({
    severity: "warning",
    cause:
      `${[...group.programs.keys()][0] ?? "A component"} cannot renew its leader lock in time, so it stops ` +
      "and another instance starts with empty queues.",
    fix: {
      component: [...group.programs.keys()][0] ?? "component",
      change: "--leader-elect-lease-duration=60s --leader-elect-renew-deadline=40s",
      reason:
        "This covers short pauses. The cause is a slow or unreachable API server or etcd: the error of " +
        "the line says which.",
    },
  }),
});
