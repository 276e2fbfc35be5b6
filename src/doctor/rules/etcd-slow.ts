// etcd answers slowly, so every write and every consistent read of the API servers is slow too.

import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";
import { counted } from "../report/counted.ts";

export const etcdSlow = logCause({
  name: "etcd-slow",
  hop: "published",
  explains: ["leader-changes", "api-overloaded", "slow-requests", "broken-watches"],
  sign: "etcd-slow",
  linesMin: 5,
  longMs: 1_000,
  text: ({ count, longest }) =>
    `${counted(count, "request")} took too long${longest?.ms === undefined ? "" : `, up to ${durationText(longest.ms)}`}`,
  others({ signs }) {
    const late = signs.get("etcd-heartbeat");
    const text = "the leader of etcd sent its heartbeats late";
    return late === undefined
      ? []
      : [{ weight: "support", source: "logs", lines: [late.evidence(text)] }];
  },
  conclude: () => ({
    severity: "warning",
    cause:
      "etcd is slow: its disk, its network or its load makes every write of the control plane wait.",
    fix: {
      component: "etcd",
      change: [
        "etcd_disk_wal_fsync_duration_seconds   # p99 must stay below 10 ms",
        "etcd_network_peer_round_trip_time_seconds",
      ].join("\n"),
      reason:
        "Look at these two metrics: a slow disk needs its own SSD, a slow network needs members nearer " +
        "to each other. Large LIST requests without a limit have the same effect.",
    },
  }),
});
