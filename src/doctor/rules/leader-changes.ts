// A component that loses its leader lock again and again: nothing is done while no instance leads.

import { counted } from "../../environment/counted.ts";
import { logCause } from "../cause.ts";
import { endedByLoss, renewalTimedOut } from "../evidence/log-signs.ts";
import type { SignGroup } from "../evidence/sign-log.ts";

const errorCharsMax = 80;

/** The end of an error says why; its start repeats the URL. */
function afterUrl(reason: string): string {
  return (reason.split('": ').at(-1) ?? reason).replaceAll(/\s+/g, " ").slice(0, errorCharsMax);
}

export const leaderChanges = logCause({
  name: "leader-changes",
  summary:
    "A component loses its leader lock again and again. Nothing is done while no instance " +
    "leads.",
  affected: "All versions, current ones included.",
  shownBy: ["client log"],
  hop: "published",
  sign: "leader-lost",
  linesMin: 3,
  isProved: isLost,
  text: ({ count, samples }) => {
    const reason = samples.find(({ subject, detail }) => subject !== "" && detail !== "")?.detail;
    const error = reason === undefined ? "" : `: ${afterUrl(reason)}`;
    return `${counted(count, "failure")} to keep a leader lock${error}`;
  },
  conclude(group) {
    const [lock] = group.topSubjects(2).filter((name) => name !== "");
    const program = [...group.programs.keys()][0] ?? lock?.split("/").at(-1) ?? "A component";
    const isControlPlane = /^kube-(?:controller-manager|scheduler)$/.test(program);
    const times = "--leader-elect-lease-duration=60s --leader-elect-renew-deadline=40s";
    return {
      severity: "warning",
      cause:
        `${program} cannot renew its leader lock${lock === undefined ? "" : ` ${lock}`} in time, so it stops ` +
        "and another instance starts with empty queues.",
      fix: {
        component: program,
        change: isControlPlane ? times : `${times}   # this program may name them otherwise`,
        reason:
          "This covers short pauses. The reason is a slow or unreachable API server or etcd: look at " +
          "their logs of that minute first. The error of the line says which.",
      },
      missing: ["the logs of the API server and of etcd, of the minute before the lock was lost"],
    };
  },
});

/** Until 1.30 a renewal ends with it if the time is over, and if the process is asked to end. */
const renewalEnded = "timed out waiting for the condition";

/** Of a request for the lock; one that a process cancels because it ends has another error. */
const unanswered =
  /context deadline exceeded|Client\.Timeout|i\/o timeout|etcdserver: request timed out/;

/**
 * The process ended because it lost the lock, or the time to renew it was over. A failed renewal beside a lock
 * that was given up is the same, and so is one beside a request for the lock that got no answer; a process that is
 * asked to end only gives it up.
 */
function isLost({ subjects, details, samples }: SignGroup): boolean {
  if (details.has(endedByLoss) || details.has(renewalTimedOut)) return true;
  if (details.has(renewalEnded) && samples.some(({ detail }) => unanswered.test(detail)))
    return true;
  const isGivenUp = [...details.keys()].some((detail) =>
    /election ?lost|stopped leading|lost master/i.test(detail),
  );
  return isGivenUp && [...subjects.keys()].some((lock) => lock !== "");
}
