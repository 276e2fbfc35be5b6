// Clients that wait for their own limit while they ask for the names of all resources. kubectl, helm
// and many controllers do this at their start; endpoint changes do not wait for it.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";

export const discoveryThrottling = logCause({
  name: "discovery-throttling",
  summary:
    "A client waits for its own limit while it lists all API groups. It starts slowly; " +
    "endpoint changes are not delayed.",
  affected: "Clients before 1.26; newer ones need one request for all API groups.",
  shownBy: ["client log"],
  hop: undefined,
  sign: "discovery-throttled",
  linesMin: 1,
  text: ({ count, longest }) =>
    `${counted(count, "discovery request")} waited, up to ${durationText(longest?.ms ?? 0)}`,
  conclude: () => ({
    severity: "info",
    cause: "A client is slow to discover the resources of the API. This delays no endpoint change.",
    fix: {
      component: "the client",
      change: "use a newer client: since 1.26 discovery is one request (aggregated discovery)",
      reason:
        "The number of API groups grows with each CustomResourceDefinition; old clients ask for each.",
    },
  }),
});
