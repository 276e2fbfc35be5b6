// A proxy that sends requests to addresses that do not answer. This is the effect of a late hop, not
// its cause; which hop is late is measured with `lockstep watch` or `lockstep blame`.

import { counted } from "../../environment/counted.ts";
import { isIp } from "../../environment/ip-address.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { unnamedFailure } from "../evidence/log-signs.ts";
import type { SignGroup } from "../evidence/sign-log.ts";

const linesMin = 1;

/** Some messages do not have it. */
const unknownAddress = "an endpoint";

export const deadEndpoints: Cause = {
  name: "dead-endpoints",
  summary:
    "A proxy sends requests to addresses that accept no connection. This is the effect of " +
    "a late or stuck hop, or of a pod that closes its port too early.",
  affected: "All versions, current ones included.",
  shownBy: ["proxy log"],
  hop: "traffic",
  explains: [],

  signs(evidence) {
    return [...failures(evidence)];
  },

  conclude({ signs }) {
    const refused = signs.get("upstream-refused");
    const [address = ""] = (refused ?? signs.get("upstream-timeout"))?.topSubjects(1) ?? [];
    const isSilent = refused === undefined || areWithoutRoute(refused);
    const fix = {
      component: "the late hop",
      change:
        (isIp(hostOf(address))
          ? `kubectl get pods -A -o wide | grep '${hostOf(address)} '   # is there a pod with this address?\n`
          : "") +
        "lockstep blame --access-log access.log   # names the late hop of each failed request",
    };
    const ended =
      "If the pod ended seconds before: give it a preStop sleep longer than the leave lag. If it ended " +
      "minutes before: a hop is stuck, and a preStop does not help.";
    return {
      severity: "warning",
      cause: isSilent
        ? `The proxy sends requests to ${address || unknownAddress} and gets no answer: a pod that is gone, a machine that is ` +
          "down, or no way to it through the network."
        : `The proxy sends requests to ${address || unknownAddress}, which does not accept connections: a pod that ended, or ` +
          "one that closes its port before the proxy has stopped using it.",
      fix: {
        ...fix,
        reason: isSilent
          ? `If a pod has the address, test the network from the proxy's node (curl, policies, the CNI). ${ended}`
          : `If a pod has the address, it listens on another port or only on loopback. ${ended}`,
      },
      missing: [
        "kubectl get endpointslices,pods -A -o wide   # of the same minute",
        "lockstep record, during the next release: without pod times the late hop is unknown",
      ],
    };
  },
};

function hostOf(address: string): string {
  return address.replace(/:\d+$/, "");
}

/** No machine answered, as opposed to one that refused. */
function areWithoutRoute({ details }: SignGroup): boolean {
  const reasons = [...details.keys()];
  return (
    reasons.length > 0 &&
    reasons.every((reason) => /no route|unreachable|timed out|timeout/i.test(reason))
  );
}

/** A TLS handshake that failed may be meant, which needs an endpoint that accepts connections. */
function isUnnamed({ details }: SignGroup): boolean {
  return details.size > 0 && [...details.keys()].every((detail) => detail === unnamedFailure);
}

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
    const [address = ""] = group.topSubjects(1);
    const to =
      group.subjects.size === 1 ? address || unknownAddress : `${group.subjects.size} addresses`;
    return group.evidence(`${counted(group.count, "connection")} to ${to} ${how}`);
  });
  if (lines.length === 0) return [];
  const isOpen = groups.every(isUnnamed) || areOfRunningPods(groups, evidence);
  const weight = isOpen ? "support" : "proof";
  return [{ weight, source: "logs", lines }];
}
