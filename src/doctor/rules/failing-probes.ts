// Endpoints that leave and return because readiness probes of their pods fail.

import { counted } from "../../environment/counted.ts";
import { logCause } from "../cause.ts";

export const failingProbes = logCause({
  name: "failing-probes",
  summary:
    "Readiness probes of pods fail, so their endpoints leave and return. The control " +
    "plane works as it should.",
  affected: "All versions, current ones included; the control plane is healthy.",
  shownBy: ["kubelet log"],
  hop: "pod",
  explains: ["no-endpoints"],
  sign: "probe-failed",
  linesMin: 3,
  text: ({ count, samples }) =>
    `${counted(count, "readiness probe")} failed: ${(samples[0]?.detail ?? "").slice(0, 80)}`,
  conclude: (_group, { signs }) => ({
    // A container that ends by itself fails its probes, too: the crash is what to look at.
    severity:
      signs.get("container-crashed") !== undefined && signs.get("liveness-failed") === undefined
        ? "info"
        : "warning",
    cause:
      "Readiness probes of pods fail, so their endpoints leave. The control plane works as it should.",
    fix: {
      component: "pod",
      change: "kubectl describe pod POD   # Events: Unhealthy",
      reason:
        "Look at the application: it is slow, overloaded or not started. A longer timeoutSeconds hides short pauses.",
    },
  }),
});
