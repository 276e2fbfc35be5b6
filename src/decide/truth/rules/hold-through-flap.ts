// Rule 3, hold through a flap. A kubelet never reports a pod as unready whose containers are ready.
// If a pod has both, the node controller marked it as unready, because the node did not report in
// time. That proves nothing about the pod. It is held while it answers probes, and also until the
// first answer, because it served a moment ago.
import { isTerminating } from "../../../kube/kinds/pod.ts";
import type { Candidate, TruthRule } from "../verdict.ts";

export const holdThroughFlap: TruthRule = {
  name: "hold through a flap",
  doubt: (candidate) =>
    candidate.probed !== undefined && isFlipped(candidate) ? "flap" : undefined,
  decide(candidate) {
    if (candidate.probed === undefined || !isFlipped(candidate)) return undefined;
    const why = "the node controller marked its pod unready, but its containers are ready";
    switch (candidate.probed) {
      case "silent":
        return { state: "out", reason: `${why}, and it does not answer probes` };
      case "answers":
        return { state: "held", reason: `${why}, and it answers probes` };
      case "unknown":
        return { state: "held", reason: `${why}, and it is being probed` };
    }
  },
};

/** Readiness gates are set by others too, and then an unready pod is meant to be unready. */
function isFlipped({ pod: fact, isPodAddress, service }: Candidate): boolean {
  if (fact === undefined || !fact.selected || !isPodAddress) return false;
  if (service.publishNotReadyAddresses) return false;
  const { pod } = fact;
  return (
    pod.phase === "Running" &&
    !isTerminating(pod) &&
    pod.ready !== "True" &&
    pod.containersReady === "True" &&
    !pod.hasReadinessGates
  );
}
