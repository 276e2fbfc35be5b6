// Watches that end with an error and are opened again. In between a client shows old state; a client
// that does not notice the end shows it for minutes.
import { durationText } from "../../environment/duration-text.ts";
import { logCause } from "../cause.ts";

/** A restart of an API server breaks each watch once. */
const linesMin = 10;

export const brokenWatches = logCause({
  name: "broken-watches",
  hop: "routed",
  explains: ["dead-endpoints", "no-endpoints"],
  sign: "watch-failed",
  linesMin,
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
