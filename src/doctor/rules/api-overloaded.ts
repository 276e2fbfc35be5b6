// An API server that refuses or gives up requests because it has too many.

import { counted } from "../../environment/counted.ts";
import { logCause } from "../cause.ts";

export const apiOverloaded = logCause({
  name: "api-overloaded",
  summary:
    "An API server gets more requests than it can serve. It refuses some with 429 and " +
    "gives up others, so controllers and watches are late.",
  affected:
    "All versions, current ones included; since 1.20 priority and fairness protects other clients.",
  shownBy: ["apiserver log"],
  hop: "published",
  explains: ["broken-watches", "leader-changes"],
  sign: "api-overloaded",
  linesMin: 3,
  text: ({ count, samples }) =>
    `${counted(count, "request")} refused or given up: ${samples[0]?.detail ?? ""}`,
  conclude: () => ({
    severity: "warning",
    cause:
      "An API server has more requests than it can serve: it refuses some and gives up others.",
    fix: {
      component: "kube-apiserver",
      change:
        "kubectl get --raw /metrics | grep -E '^apiserver_(flowcontrol_rejected_requests_total|current_inflight_requests)'",
      reason:
        "Find the client with the most requests in the audit log or in these metrics, and limit it with " +
        "a FlowSchema. More API servers help only if clients are spread over them.",
    },
  }),
});
