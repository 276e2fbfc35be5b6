// A leader lock whose holder exists and has stopped renewing it, while other leases of the same time
// are renewed. Candidates that compare their own clock take over; a controller with one replica does not.

import { durationText } from "../../environment/duration-text.ts";
import type { Cause } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { LeaderRecord } from "../evidence/objects.ts";
import { placeText } from "../evidence/sign-log.ts";
import { podOf } from "./ghost-leader.ts";

/** A lease may be read a few renewals before another one. */
const durationsLate = 10;
const defaultDurationSeconds = 15;

interface Stuck {
  readonly record: LeaderRecord;
  readonly lateMs: number;
}

export const stuckLeader: Cause = {
  name: "stuck-leader",
  summary:
    "The pod that holds a leader lock exists and does not renew the lock. No instance does the work " +
    "of the leader until the pod is restarted.",
  affected:
    "All versions, current ones included; it depends on the controller that holds the lock.",
  shownBy: ["locks"],
  hop: undefined,
  explains: ["empty-ingress-status"],

  signs(evidence) {
    const [stuck] = stuckLeaders(evidence);
    if (stuck === undefined) return [];
    const { record, lateMs } = stuck;
    const text = `${record.holder} last renewed ${record.lock} ${durationText(lateMs)} before the newest time in the text`;
    const lines = [{ text, source: placeText(record.place) }];
    return [{ weight: "proof", source: "objects", lines }];
  },

  conclude(evidence) {
    const record = stuckLeaders(evidence)[0]?.record;
    const pod = podOf(record?.holder ?? "");
    return {
      severity: "critical",
      cause: `${pod} holds the leader lock ${record?.lock ?? ""} and does not renew it, so no instance leads.`,
      fix: {
        component: pod,
        change: `kubectl -n ${record?.namespace ?? ""} delete pod ${pod}`,
        reason:
          "Some controllers stop their election after one failed renewal and keep running without it. " +
          "A restart is enough; then look for the failed renewal in the log of the pod and upgrade.",
      },
      missing: ["the log of the holder, from its last renewal on"],
    };
  },
};

function stuckLeaders({ objects, signs }: Evidence): readonly Stuck[] {
  const nowMs = Math.max(objects.newestRenewalMs ?? 0, signs.newestMs ?? 0);
  return objects.leaders.flatMap((record) => {
    const { holder, namespace, renewTime, durationSeconds = defaultDurationSeconds } = record;
    const lateMs = nowMs - Date.parse(renewTime ?? "");
    const isLate = lateMs > durationsLate * durationSeconds * 1000;
    // A holder that does not exist is another cause.
    return isLate && objects.pods.has(`${namespace}/${podOf(holder)}`) ? [{ record, lateMs }] : [];
  });
}
