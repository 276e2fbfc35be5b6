// API servers that each write their own address into the `kubernetes` endpoints, because none of them
// counts the others. Clients that connect through the service are moved from server to server, and
// watches that lose their path show old state without an error.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Conclusion, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { versionParts } from "../evidence/settings.ts";
import type { SignGroup } from "../evidence/sign-log.ts";
import { placeText } from "../evidence/sign-log.ts";

/** A fight writes one at each tick of 10 s; two servers that start together write one each. */
const linesMin = 3;
const resetsMin = 2;
const periodMaxMs = 60_000;

/** A server that is replaced leads to one, and three that are restarted in turn to three. */
const leaseResetsMin = 3;
const leaseResetsSure = 6;

/** The lease reconciler came with 1.9. */
const leaseMinor = 9;

export const apiserverFight: Cause = {
  name: "apiserver-fight",
  summary:
    "Each API server overwrites the addresses of the kubernetes service with its own one, " +
    "every 10 s. Clients inside the cluster are moved from server to server, and watches " +
    "can become stale without an error.",
  affected:
    "Current versions only with --endpoint-reconciler-type=master-count; leases are the default since 1.11.",
  shownBy: ["kubernetes addresses", "apiserver log"],
  hop: "routed",
  explains: ["broken-watches", "dead-endpoints", "slow-requests"],

  signs(evidence) {
    return [
      ...resets(evidence),
      ...changingAddress(evidence),
      ...observedAddress(evidence),
      ...countFlag(evidence),
    ];
  },

  conclude({ settings, signs }) {
    const resetsOfLeases = signs.get("kubernetes-endpoints-reset");
    if (resetsOfLeases !== undefined && isLeaseForm(resetsOfLeases)) return amongLeases;
    const version = settings.version?.value;
    const hasLeases = version === undefined || versionParts(version).minor >= leaseMinor;
    const count = "--apiserver-count=N   # N: number of API servers, the same on each";
    return {
      severity: "critical",
      cause:
        "API servers overwrite each other's address in the endpoints of the kubernetes service, so " +
        "clients inside the cluster are moved between servers and their watches can become stale.",
      fix: {
        component: "kube-apiserver",
        change: hasLeases ? `--endpoint-reconciler-type=lease\n# before 1.9:\n${count}` : count,
        reason:
          "With leases each API server keeps its own entry and a dead one expires after 15 s. With a " +
          "count, a dead server stays in the list until another one takes its place.",
      },
      missing: [
        "kubectl get endpoints kubernetes -o yaml --watch   # the address changes every few seconds",
      ],
    };
  },
};

const amongLeases: Conclusion = {
  severity: "critical",
  cause:
    "API servers write the same addresses into the endpoints of the kubernetes service again and again, because " +
    "something else changes them, so clients inside the cluster are moved between servers.",
  fix: {
    component: "kube-apiserver",
    change: [
      "# on each master: the same type, or none, which is lease",
      "grep -- --endpoint-reconciler-type /etc/kubernetes/manifests/kube-apiserver.yaml",
      "# in etcd: one key for each server, never absent",
      "etcdctl get --prefix --keys-only /registry/masterleases/",
    ].join("\n"),
    reason:
      "A server renews its lease each 10 s, and the lease ends after 15 s. If all servers use leases, one of them " +
      "renews too late, because etcd or the server itself is slow. A server with master-count does not count the others.",
  },
  missing: ["the logs of all API servers, of the same minutes"],
};

/** The master-count reconciler prints an object; the lease reconciler prints a list of addresses. */
function resets({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("kubernetes-endpoints-reset");
  if (group === undefined) return [];
  if (isLeaseForm(group)) return repeatedLeases(group);
  const period = group.periodMs;
  // The second reset within a minute: in between another server has written its own addresses.
  const isSteady = group.count >= resetsMin && (period ?? group.spanMs) <= periodMaxMs;
  const each = period === undefined ? "" : `, one each ${durationText(period)}`;
  const lines = counted(group.count, "line");
  const text = `${lines}: an API server resets the endpoints of the kubernetes service${each}`;
  const weight = isSteady ? "proof" : "support";
  return [{ weight, source: "logs", lines: [group.evidence(text)] }];
}

/** With leases a server writes only what differs, so the same list twice means that something changed it in between. */
function repeatedLeases(group: SignGroup): readonly Sign[] {
  const [list = ""] = group.topSubjects(1);
  const times = group.mostOfOne;
  if (times < leaseResetsMin || (group.periodMs ?? group.spanMs) > periodMaxMs) return [];
  const text = `API servers reset the endpoints of the kubernetes service ${times} times to ${list}`;
  const weight = times >= leaseResetsSure ? "proof" : "support";
  return [{ weight, source: "logs", lines: [group.evidence(text)] }];
}

function isLeaseForm({ samples }: SignGroup): boolean {
  return samples.every(({ subject }) => /^\[[\d.\s:a-f]*\]/.test(subject));
}

/** kube-proxy and `kubectl get endpoints` show one address at a time, and not always the same. */
function changingAddress({ signs }: Evidence): readonly Sign[] {
  const group = signs.get("kubernetes-endpoints-seen");
  if (group === undefined) return [];
  // Servers that count each other are listed together, also while one of them is replaced.
  const isOneEach = [...group.subjects.keys()].every((subject) => /^\[[^\s,\]]+\]?$/.test(subject));
  if (!isOneEach || group.subjects.size < 2) return [];
  const text = `the kubernetes endpoints were seen ${group.count} times, each with one of ${group.subjects.size} addresses`;
  const isSteady = group.count >= linesMin && (group.periodMs ?? 0) <= periodMaxMs;
  const weight = isSteady ? "proof" : "support";
  return [{ weight, source: "logs", lines: [group.evidence(text)] }];
}

/** Samples of a live cluster: one address at a time, and one that was replaced comes back. */
function observedAddress({ objects }: Evidence): readonly Sign[] {
  const seen = objects.observed.kubernetes;
  if (seen === undefined || !seen.isOneEach || seen.changes === 0) return [];
  const forText = durationText(seen.toMs - seen.fromMs);
  const text =
    `the kubernetes endpoints list one address at a time; it changed ` +
    `${counted(seen.changes, "time")} within ${forText}, between ${seen.seen.size} addresses`;
  // One change alone is a server that was replaced.
  const weight = seen.returns > 0 || seen.changes >= linesMin ? "proof" : "support";
  return [{ weight, source: "objects", lines: [{ text, source: placeText(seen.place) }] }];
}

function countFlag({ settings, signs, objects }: Evidence): readonly Sign[] {
  const count = settings.flag("apiserver-count");
  if (count === undefined || Number(count.value) > 1) return [];
  const isChanging = (objects.observed.kubernetes?.changes ?? 0) > 0;
  if (signs.get("kubernetes-endpoints-reset") === undefined && !isChanging) return [];
  const text = `--apiserver-count=${count.value}`;
  return [
    { weight: "support", source: "flags", lines: [{ text, source: placeText(count.place) }] },
  ];
}
