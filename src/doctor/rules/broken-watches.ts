// Watches that end with an error and are opened again. In between a client shows old state; a client
// that does not notice the end shows it for minutes.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";
import type { SignGroup } from "../evidence/sign-log.ts";
import { inPodCheck } from "../report/in-pod-check.ts";

/** A watch that ends by itself after a minute; one that breaks off ends before. */
const minuteWatch =
  "https://kubernetes.default.svc/apis/discovery.k8s.io/v1/endpointslices?watch=true&timeoutSeconds=60";

const errorCharsMax = 120;

/** A restart of an API server breaks each watch once, and the list after it once more. */
const ofOneMin = 3;

export const brokenWatches = logCause({
  name: "broken-watches",
  summary:
    "Watches of a client end with errors again and again. Between two lists the client " +
    "works with old state.",
  affected:
    "All versions, current ones included; clients before 1.19 also keep a dead connection for up to 15 min.",
  shownBy: ["client log"],
  hop: "routed",
  explains: ["dead-endpoints", "no-endpoints"],
  sign: "watch-failed",
  linesMin: ofOneMin,
  ofOneMin,
  // One lost connection ends all watches at once, also those of kinds with the same name.
  isEnough: ({ moments }) => moments >= ofOneMin,
  text: ({ count, spanMs, samples }) => {
    const within = spanMs === 0 ? "" : ` within ${durationText(spanMs)}`;
    const [kind = ""] = samples.flatMap(({ subject }) => (subject === "" ? [] : [subject]));
    const failed = `${counted(count, "list or watch", "lists or watches")} failed${within}`;
    return kind === "" ? failed : `${failed} (${kind})`;
  },
  conclude: (group) => ({
    severity: "warning",
    cause:
      `${[...group.programs.keys()][0] ?? "A client"} cannot keep its watches open, so it works with ` +
      "old state until the next list succeeds.",
    fix: {
      component: [...group.programs.keys()][0] ?? "client",
      change: inPodCheck(group, minuteWatch),
      reason:
        `The error is: ${errorOf(group)}. It names the reason: a connection that breaks (load balancer, IPVS, ` +
        "idle timeout), a missing permission, or an API server that is overloaded. The watch of the command ends " +
        "after 60 s; one that breaks off ends before.",
    },
  }),
});

function errorOf({ samples }: SignGroup): string {
  return (samples[0]?.detail.split("\n")[0] ?? "").slice(0, errorCharsMax);
}
