// etcd answers slowly, so every write and every consistent read of the API servers is slow too.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { type Cause, type Conclusion, logCause, type Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText, type SignGroup } from "../evidence/sign-log.ts";

const conclusion: Conclusion = {
  severity: "warning",
  cause:
    "etcd is slow: its disk, its network or its load makes every write of the control plane wait.",
  fix: {
    component: "etcd",
    change: [
      "# on the machine of each member (--listen-metrics-urls, kubeadm has port 2381):",
      "curl -s http://127.0.0.1:2381/metrics | grep -E 'wal_fsync_duration_seconds_(bucket|count)|peer_round_trip_time_seconds_(sum|count)'",
    ].join("\n"),
    reason:
      "99 % of the fsyncs have to take less than 10 ms: a slower disk needs an SSD that etcd has for itself. A " +
      "slow network needs members nearer to each other. Large LIST requests without a limit have the same effect.",
  },
  missing: [
    "the logs of the other etcd members: one slow member is a disk, all of them are the load",
  ],
};

const conclusionOfPeers: Conclusion = {
  severity: "warning",
  cause:
    "Members of etcd lose the connection to each other, so the control plane waits for its writes or for a new leader.",
  fix: {
    component: "etcd",
    change: [
      "etcdctl endpoint status --cluster -w table   # on a member: which one does not answer?",
      "nc -zv -w 3 ADDRESS_OF_THE_PEER 2380   # from each member to each other one",
    ].join("\n"),
    reason:
      "A member that is down has to be started or removed. If all of them run, look for a firewall, a slow network " +
      "or a machine that is overloaded.",
  },
  missing: ["the logs of the other etcd members, of the same minutes"],
};

/** One change is the restart of a member, and many clients report it at once. */
const leadersMin = 3;
const leadersSpanMs = 60_000;

/** So many that are late, or one that is very late. */
const linesMin = 5;
const longMs = 1_000;

const slowRequests = logCause({
  name: "etcd-slow",
  summary:
    "etcd answers slowly: disk, network or load. Every write and every consistent read of " +
    "the control plane waits for it.",
  affected: "All versions, current ones included.",
  shownBy: ["etcd log", "apiserver log", "audit log"],
  hop: "published",
  explains: ["leader-changes", "api-overloaded", "slow-requests", "broken-watches"],
  sign: "etcd-slow",
  linesMin,
  longMs,
  isProved: isTimedOut,
  text: ({ count, longest }) =>
    `${counted(count, "request")} took too long${longest?.ms === undefined ? "" : `, up to ${durationText(longest.ms)}`}`,
  others({ signs }) {
    const late = signs.get("etcd-heartbeat");
    const text = "the leader of etcd sent its heartbeats late";
    return late === undefined
      ? []
      : [{ weight: "support", source: "logs", lines: [late.evidence(text)] }];
  },
  conclude: () => conclusion,
});

/** etcd itself gives a request up after 5 s or longer; at one moment it may be the restart of a member. */
const timeoutsMin = 2;

function isTimedOut({ details, moments }: SignGroup): boolean {
  const timeouts = [...details].filter(([detail]) => /timed out/.test(detail));
  return (
    timeouts.reduce((sum, [, count]) => sum + count, 0) >= timeoutsMin && moments >= timeoutsMin
  );
}

const unstored = /did not complete within|etcdserver/;

/** The same time as the API server measured it, in its audit log. */
function audited({ objects }: Evidence): readonly Sign[] {
  const { count, longestMs, place } = objects.audit.slowInEtcd;
  if (place === undefined) return [];
  const text = `${counted(count, "request")} for one object waited for etcd, up to ${durationText(longestMs)}`;
  const weight = count >= linesMin || longestMs >= longMs ? "proof" : "support";
  return [{ weight, source: "logs", lines: [{ text, source: placeText(place) }] }];
}

/** An API server, or another client, that got no answer in time: etcd may be slow, or not run at all. */
function unanswered({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("etcd-unanswered");
  if (group === undefined) return [];
  const text = `${counted(group.count, "request")} got no answer from etcd in time`;
  return [{ weight: "support", source: "logs", lines: [group.evidence(text)] }];
}

/** Members that do not reach each other. One that is restarted is no harm; requests that time out are. */
function lostPeers({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("etcd-peer-lost");
  if (group === undefined) return [];
  const peers = counted(group.subjects.size, "peer");
  const text = `a member of etcd lost the connection to ${peers} (${counted(group.count, "line")})`;
  const isMajority = group.subjects.size >= peersMin && group.count >= peerLinesMin;
  const isProof = isMajority && signs.get("etcd-slow") !== undefined;
  return [{ weight: isProof ? "proof" : "support", source: "logs", lines: [group.evidence(text)] }];
}

/** A member that reaches one other one still has a majority. */
const peersMin = 2;
const peerLinesMin = 3;

/** A member that changes its leader again and again waits for its disk or for the others, too. */
export const etcdSlow: Cause = {
  ...slowRequests,

  /** A heartbeat that the API server could not store in time, as opposed to one that came late. */
  explainsToo({ signs }) {
    const failed = signs.get("node-status-failed")?.samples ?? [];
    const isStored = failed.length > 0 && failed.every(({ detail }) => unstored.test(detail));
    return isStored && signs.get("pleg-unhealthy") === undefined ? ["late-heartbeats"] : [];
  },

  signs(evidence) {
    const lost = evidence.signs.get("etcd-leader");
    const own = [
      ...slowRequests.signs(evidence),
      ...unanswered(evidence),
      ...audited(evidence),
      ...lostPeers(evidence),
    ];
    if (lost === undefined) return own;
    const isRepeated = lost.count >= leadersMin && lost.spanMs >= leadersSpanMs;
    const weight = isRepeated ? "proof" : "support";
    const text = `etcd lost or changed its leader ${counted(lost.count, "time")}`;
    return [...own, { weight, source: "logs", lines: [lost.evidence(text)] }];
  },
  conclude(evidence) {
    if (evidence.signs.get("etcd-peer-lost") !== undefined) return conclusionOfPeers;
    if (evidence.signs.get("etcd-slow") !== undefined) return slowRequests.conclude(evidence);
    const before =
      evidence.signs.get("etcd-leader") === undefined
        ? "of the same minutes"
        : "from before the change";
    return { ...conclusion, missing: [`the log of each etcd member, ${before}`] };
  },
};
