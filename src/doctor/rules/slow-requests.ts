// Requests that an API server itself reports as slow.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";

export const slowRequests = logCause({
  name: "slow-requests",
  summary: "An API server reports slow requests, most often large lists.",
  affected: "All versions, current ones included.",
  shownBy: ["apiserver log"],
  hop: "published",
  sign: "slow-request",
  linesMin: 5,
  longMs: 2_000,
  text: ({ count, longest }) =>
    `${counted(count, "slow request")}, up to ${durationText(longest?.ms ?? 0)} (${longest?.subject ?? ""})`,
  conclude: () => ({
    severity: "info",
    cause: "An API server answers some requests slowly, most often large lists.",
    fix: {
      component: "clients that list",
      change: "limit=500 and resourceVersion=0 in list requests",
      reason:
        "A list without a limit reads everything from etcd. Lists from the watch cache are cheap.",
    },
  }),
});
