// Watches that end with an error and are opened again. In between a client shows old state; a client
// that does not notice the end shows it for minutes.
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";

/** A restart of an API server breaks each watch once, and the list after it once more. */
const ofOneMin = 3;

export const brokenWatches = logCause({
  name: "broken-watches",
  summary:
    "Watches of a client end with errors again and again. Between two lists the client " +
    "works with old state.",
  hop: "routed",
  explains: ["dead-endpoints", "no-endpoints"],
  sign: "watch-failed",
  linesMin: ofOneMin,
  ofOneMin,
  // One lost connection ends all watches at once, also those of kinds with the same name.
  isEnough: ({ moments }) => moments >= ofOneMin,
  text: ({ count, spanMs }) => `${count} lists or watches failed within ${durationText(spanMs)}`,
  conclude: (group) => ({
    severity: "warning",
    cause:
      `${[...group.programs.keys()][0] ?? "A client"} cannot keep its watches open, so it works with ` +
      "old state until the next list succeeds.",
    fix: {
      component: [...group.programs.keys()][0] ?? "client",
      change: `# the error of the first line:\n${group.samples[0]?.detail.split("\n")[0] ?? ""}`,
      reason:
        "The error names the reason: a connection that breaks (load balancer, IPVS, idle timeout), a " +
        "missing permission, or an API server that is overloaded.",
    },
  }),
});
