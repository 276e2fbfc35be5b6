// Rule 1, leave at once: a pod that is terminating, terminal, deleted or unready gets no more
// requests, though the slice still lists it. Some of these facts cannot be undone, so they hold even
// when the pod watch has gone stale since; readiness, labels and addresses can change back, and
// count only while the watch is fresh.
import type { Pod } from "../../../kube/kinds/pod.ts";
import { type Candidate, isPublishedReady, type TruthRule, type Verdict } from "../verdict.ts";

export const leaveAtOnce: TruthRule = {
  name: "leave at once",
  decide(candidate) {
    if (candidate.service.selector === undefined) return undefined;
    if (candidate.podGone) return out(candidate, "its pod is gone");
    const pod = candidate.pod?.pod;
    if (pod === undefined) return undefined;
    return forGood(candidate, pod) ?? forNow(candidate, pod);
  },
};

function forGood(candidate: Candidate, pod: Pod): Verdict | undefined {
  if (pod.phase === "Failed" || pod.phase === "Succeeded") {
    return out(candidate, `its pod has ended (${pod.phase})`);
  }
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  return pod.ready === "True"
    ? { state: "draining", reason: despiteSlice(candidate, "its pod is terminating") }
    : out(candidate, "its pod is terminating and not ready");
}

function forNow(candidate: Candidate, pod: Pod): Verdict | undefined {
  if (candidate.podWatch.state !== "fresh") return undefined;
  if (candidate.pod?.selected === false) {
    return out(candidate, "its pod no longer matches the selector");
  }
  if (!candidate.isPodAddress) return out(candidate, "its pod has another address or port now");
  if (pod.ready !== "True" && !candidate.service.publishNotReadyAddresses) {
    return out(candidate, "its pod is not ready");
  }
  return undefined;
}

function out(candidate: Candidate, reason: string): Verdict {
  return { state: "out", reason: despiteSlice(candidate, reason) };
}

function despiteSlice(candidate: Candidate, reason: string): string {
  return isPublishedReady(candidate) ? `${reason}, though it is still published as ready` : reason;
}
