// Rule 1, leave at once: a pod that is terminating, terminal, deleted or unready gets no more
// requests, though the slice still lists it. Some of these facts cannot be undone, so they hold even
// when the pod watch has gone stale since; readiness, labels and addresses can change back, and
// count only while the watch is fresh.
import { hasEnded, isTerminating, type Pod } from "../../../kube/kinds/pod.ts";
import type { Departure } from "../../../sources/departed-pods.ts";
import { isLastTruth } from "../last-truth.ts";
import { type Candidate, isPublishedReady, type TruthRule, type Verdict } from "../verdict.ts";

export const leaveAtOnce: TruthRule = {
  name: "leave at once",
  decide(candidate) {
    if (candidate.service.selector === undefined) return undefined;
    if (candidate.gone !== undefined) return isGone(candidate, candidate.gone);
    const pod = candidate.pod?.pod;
    if (pod === undefined) return undefined;
    if (candidate.podWatch.state !== "fresh") return forGood(candidate, pod);
    return forGood(candidate, pod) ?? forNow(candidate);
  },
};

function forGood(candidate: Candidate, pod: Pod): Verdict | undefined {
  if (hasEnded(pod)) return out(candidate, `its pod has ended (${pod.phase})`);
  if (!isTerminating(pod)) return undefined;
  if (pod.ready !== "True") return out(candidate, "its pod is terminating and not ready");
  return isServingStill(candidate)
    ? { state: "draining", reason: despiteSlice(candidate, "its pod is terminating") }
    : out(candidate, "its pod is terminating, and its EndpointSlice does not list it as serving");
}

/** A stale watch cannot say that a pod which terminates is ready still, if the slices know better. */
function isServingStill(candidate: Candidate): boolean {
  const { podWatch, published } = candidate;
  if (podWatch.state === "fresh" || isLastTruth(candidate)) return true;
  return (
    published !== undefined && (published.ready || (published.serving && published.terminating))
  );
}

/** The reversible facts of a pod about its endpoint. */
export function forNow(candidate: Candidate): Verdict | undefined {
  const { pod: fact, isPodAddress, service } = candidate;
  if (fact === undefined) return undefined;
  if (!fact.selected) return out(candidate, "its pod no longer matches the selector");
  if (!isPodAddress) return out(candidate, "its pod has another address or port now");
  if (fact.pod.ready === "True" || service.publishNotReadyAddresses) return undefined;
  return { ...out(candidate, "its pod is not ready"), soleWitnessAtMs: fact.seenAtMs };
}

/** A list that comes without a pod is less than a deletion that was seen. */
function isGone(candidate: Candidate, { atMs, isWitnessed }: Departure): Verdict {
  const verdict = out(candidate, "its pod was deleted");
  return isWitnessed ? verdict : { ...verdict, soleWitnessAtMs: atMs };
}

function out(candidate: Candidate, reason: string): Verdict {
  return { state: "out", reason: despiteSlice(candidate, reason) };
}

function despiteSlice(candidate: Candidate, reason: string): string {
  return isPublishedReady(candidate)
    ? `${reason}, but its EndpointSlice still lists it as ready`
    : reason;
}
