// Clocks that differ between machines: etcd warns, certificates and tokens can be refused. Endpoint
// changes do not depend on it, so it is rarely the reason for late endpoints.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";

export const clockSkew = logCause({
  name: "clock-skew",
  summary:
    "The clocks of machines differ. etcd warns about it; endpoint changes are not " + "delayed.",
  affected: "All versions, current ones included.",
  shownBy: ["etcd log"],
  hop: undefined,
  sign: "etcd-clock",
  linesMin: 1,
  text: ({ count, longest }) =>
    `${counted(count, "warning")} of etcd about different clocks` +
    (longest?.ms === undefined ? "" : `, up to ${durationText(longest.ms)}`),
  conclude: () => ({
    severity: "info",
    cause: "The clocks of the etcd members differ. This alone delays no endpoint change.",
    fix: {
      component: "machines",
      change: "chronyc tracking   # on each member",
      reason:
        "Leases and elections compare changes, not clocks. Certificates and log times need the same time.",
    },
  }),
});
