// A leader lock that is renewed by a process whose pod does not exist in the cluster. The pods that
// exist wait for the lock, so the work of the leader is not done: an ingress controller writes no
// status.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { LeaderRecord } from "../evidence/objects.ts";
import type { Observations } from "../evidence/observations.ts";
import { placeText } from "../evidence/sign-log.ts";

const defaultDurationSeconds = 15;

interface Ghost {
  readonly holder: string;
  readonly namespace: string;
  readonly lock: string | undefined;
}

export const ghostLeader: Cause = {
  name: "ghost-leader",
  summary:
    "A process whose pod no longer exists keeps renewing a leader lock. The pods that " +
    "exist wait for the lock, so the work of the leader is not done.",
  affected:
    "All versions, current ones included: Kubernetes does not check that the holder of a lock exists.",
  shownBy: ["locks and pods"],
  hop: undefined,
  explains: ["empty-ingress-status"],

  signs(evidence) {
    const found = ghosts(evidence);
    if (found.length === 0) return [];
    return [
      ...records(evidence, found),
      ...elections(evidence, found),
      ...machines(evidence, found),
      ...renewals(evidence, found),
    ];
  },

  conclude(evidence) {
    const found = ghosts(evidence);
    const [ghost] = found;
    // One record may be older than the list of pods.
    const others = [elections, machines, renewals].flatMap((sign) => sign(evidence, found));
    const seen = evidence.objects.observed.locks.get(ghost?.lock ?? "");
    const isRenewed = others.length > 0 || (seen?.renewals ?? 0) > 0;
    const holder = ghost?.holder ?? "";
    const namespace = ghost?.namespace ?? "default";
    const name = ghost?.lock?.split("/")[1] ?? "LOCK";
    return {
      severity: "critical",
      cause:
        `The leader lock ${ghost?.lock ?? "of this controller"} is held by ${holder}, which is no pod ` +
        (isRenewed
          ? "of the cluster: a process outside the cluster renews it, so no pod does the leader's work."
          : "of the cluster. While a process outside the cluster renews it, no pod does the leader's work."),
      fix: {
        component: ghost?.lock ?? holder,
        change: [
          `kubectl -n ${namespace} edit configmap ${name}   # or lease: name an existing pod as holder`,
          `docker ps | grep ${holder}   # on machines that were removed: stop kubelet and container`,
        ].join("\n"),
        reason:
          "The edited record makes the named pod the leader at its next look. Restarting the pods " +
          "does not help: the process outside renews the lock. It competes for the lock again until " +
          "it is stopped.",
      },
      missing: [
        ...(isRenewed
          ? []
          : ["the lock again a minute later (-o yaml): does its renewTime advance?"]),
        "the list of pods on each machine that was removed from the cluster (docker ps, crictl ps)",
      ],
    };
  },
};

/** A controller that restarts all day names some dozen. */
const electedMax = 20;

/** A holder that is not among the listed pods of its namespace, while pods like it are. */
function ghosts({ objects, signs }: Evidence): readonly Ghost[] {
  const keys = [...objects.pods.keys()];
  const absentFrom = (namespace: string, pod: string): readonly string[] => {
    const listed = namespace === "" ? [...objects.listedPods.keys()] : [namespace];
    const isKnown = listed.some((one) => objects.pods.has(`${one}/${pod}`));
    return isKnown ? [] : listed.filter((one) => keys.some((key) => isSibling(key, one, pod)));
  };
  const fromRecords = objects.leaders
    .filter((record) => !isExpired(record, objects.observed))
    .flatMap(({ holder, namespace, lock }) =>
      absentFrom(namespace, podOf(holder)).map((one) => ({
        holder: podOf(holder),
        namespace: one,
        lock,
      })),
    );
  // In the order in which a log names them, the earlier leaders first.
  const elected = [...(signs.get("leader-elected")?.subjects.keys() ?? [])].slice(-electedMax);
  const holders = [...objects.leaders, ...objects.observed.locks.values()].map(
    ({ holder }) => holder,
  );
  // A pod of the same kind that holds a lock now, or that was elected after it, settles it.
  const isSettled = (namespace: string, pod: string, later: readonly string[]): boolean =>
    [...holders, ...later].some((holder) => {
      const key = `${namespace}/${podOf(holder)}`;
      return objects.pods.has(key) && isSibling(key, namespace, pod);
    });
  const fromLogs = elected.flatMap((holder, index) =>
    absentFrom("", podOf(holder))
      .filter((namespace) => !isSettled(namespace, podOf(holder), elected.slice(index + 1)))
      .map((namespace) => ({ holder: podOf(holder), namespace, lock: undefined })),
  );
  return [...fromRecords, ...fromLogs];
}

/** It was observed that the holder does not renew it any more, or that another one has it now. */
function isExpired(record: LeaderRecord, { locks }: Observations): boolean {
  const { lock, holder, durationSeconds = defaultDurationSeconds } = record;
  const seen = locks.get(lock);
  if (seen === undefined) return false;
  return seen.holder !== holder || seen.unrenewedMs > durationSeconds * 1000;
}

/** A pod of the same DaemonSet or Deployment, also of another revision of it. */
function isSibling(key: string, namespace: string, pod: string): boolean {
  const family = pod.replace(/-[a-z0-9]+$/, "").replace(/-(?:[0-9a-f]{6,10}|\d{6,10})$/, "");
  return family !== pod && key.startsWith(`${namespace}/${family}-`);
}

/** Some programs add an id of the process: `name_8f2c…`. */
export function podOf(holder: string): string {
  return holder.replace(/_[0-9a-f-]{8,}$/, "");
}

function records({ objects }: Evidence, found: readonly Ghost[]): readonly Sign[] {
  const record = objects.leaders.find(({ holder }) =>
    found.some((ghost) => ghost.holder === podOf(holder)),
  );
  if (record === undefined) return [];
  const namespace = found.find(({ holder }) => holder === podOf(record.holder))?.namespace ?? "";
  const listed = objects.listedPods.get(namespace);
  const renewed = record.renewTime === undefined ? "" : `, renewed at ${record.renewTime}`;
  const lines = [
    {
      text: `${record.lock} names ${record.holder} as its holder${renewed}`,
      source: placeText(record.place),
    },
  ];
  const seen = objects.observed.locks.get(record.lock);
  if (seen !== undefined && seen.renewals > 0) {
    const times = counted(seen.renewals, "time");
    const text = `it was renewed ${times} within ${durationText(seen.observedMs)}`;
    lines.push({ text, source: placeText(seen.place) });
  }
  if (listed !== undefined) {
    const text = `no pod ${podOf(record.holder)} among the pods of namespace ${namespace}`;
    lines.push({ text, source: placeText(listed) });
  }
  return [{ weight: "proof", source: "objects", lines }];
}

function elections({ signs }: Evidence, found: readonly Ghost[]): readonly Sign[] {
  const group = signs.get("leader-elected");
  const ghost = found.find(({ holder }) => group?.subjects.has(holder) === true);
  if (group === undefined || ghost === undefined) return [];
  const text = `controllers report ${ghost.holder} as their leader`;
  return [{ weight: "proof", source: "logs", lines: [group.evidence(text)] }];
}

function machines({ objects }: Evidence, found: readonly Ghost[]): readonly Sign[] {
  for (const { namespace, holder } of found) {
    const place = objects.runningContainers.get(`${namespace}/${holder}`);
    if (place !== undefined) {
      const text = `a container of ${holder} still runs on this machine`;
      return [
        { weight: "support", source: "objects", lines: [{ text, source: placeText(place) }] },
      ];
    }
  }
  return [];
}

/** The audit log names the address that the lock is renewed from. */
function renewals({ objects }: Evidence, found: readonly Ghost[]): readonly Sign[] {
  for (const { lock } of found) {
    const writes = objects.audit.locks.get(lock ?? "");
    const [address, count] = [...(writes?.addresses ?? [])].sort(([, a], [, b]) => b - a)[0] ?? [];
    if (writes === undefined || address === undefined || count === undefined) continue;
    const text = `${writes.lock} was renewed ${counted(count, "time")} from ${address}: the ghost runs there`;
    return [
      { weight: "support", source: "logs", lines: [{ text, source: placeText(writes.place) }] },
    ];
  }
  return [];
}
