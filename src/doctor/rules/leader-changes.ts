// A component that loses its leader lock again and again: nothing is done while no instance leads.

import { logCause } from "../cause.ts";
import type { SignGroup } from "../evidence/sign-log.ts";
import { counted } from "../report/counted.ts";

export const leaderChanges = logCause({
  name: "leader-changes",
  summary:
    "A component loses its leader lock again and again. Nothing is done while no instance " +
    "leads.",
  hop: "published",
  sign: "leader-lost",
  linesMin: 3,
  isProved: isLost,
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

/** The renewal failed, and so the process gave the lock up: a process that is asked to end only gives it up. */
function isLost({ subjects, details }: SignGroup): boolean {
  const isGivenUp = [...details.keys()].some((detail) =>
    /election ?lost|stopped leading/i.test(detail),
  );
  return isGivenUp && [...subjects.keys()].some((lock) => lock !== "");
}
