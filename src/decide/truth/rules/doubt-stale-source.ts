// Rule 5, doubt a stale source. When the pod watch is stale and the slices are not, the slices are
// followed; a pod that was ready when last seen and that they do not call ready gets a request only
// when nothing better is left. When both are stale nothing is believed but what was last known, which is
// what the pods said; requests that fail decide the rest, and a probe where the slices say otherwise.
import { isLastTruth } from "../last-truth.ts";
import type { Candidate, TruthRule, Verdict } from "../verdict.ts";
import { forNow } from "./leave-at-once.ts";

export const doubtStaleSource: TruthRule = {
  name: "doubt a stale source",
  doubt: (candidate) => (isContradicted(candidate) ? "unpublished" : undefined),
  decide(candidate) {
    if (isLastTruth(candidate)) return lastTruth(candidate);
    return isContradicted(candidate) ? lateJoin(candidate) : undefined;
  },
};

function lastTruth(candidate: Candidate): Verdict | undefined {
  const { pod, podWatch, probed } = candidate;
  if (pod === undefined) return undefined;
  const lastKnown = `as last known: ${podWatch.detail}`;
  const left = forNow(candidate);
  if (left !== undefined) return { ...left, reason: `${left.reason}, ${lastKnown}` };
  const isReady = pod.pod.ready === "True";
  const why = isReady ? "its pod was ready" : "the service accepts pods that are not ready";
  if (probed !== "silent" || !isContradicted(candidate)) {
    return { state: "active", reason: `${why}, ${lastKnown}` };
  }
  const against = `${published(candidate)}, and it does not answer probes`;
  return { state: "suspect", reason: `${why}, ${lastKnown}; but ${against}` };
}

/**
 * The pod was ready when last seen, but the slices do not list it yet, no longer list it, or
 * contradict it. They may be older, if their controller is behind, or newer. So the endpoint is
 * probed.
 */
function isContradicted(candidate: Candidate): boolean {
  const { pod, podWatch, published, probed } = candidate;
  if (pod === undefined || probed === undefined || podWatch.state !== "stale") return false;
  if (published?.ready === true || published?.terminating === true) return false;
  return pod.pod.ready === "True" && forNow(candidate) === undefined;
}

/** The slices are fresher, or at least the later word. */
function lateJoin(candidate: Candidate): Verdict {
  const { probed, podWatch } = candidate;
  const why = `${published(candidate)}, and its pod was ready when last seen: ${podWatch.detail}`;
  switch (probed) {
    case "silent":
      return { state: "out", reason: `${why}; it does not answer probes` };
    case "answers":
      return { state: "suspect", reason: `${why}; it answers probes` };
    default:
      return { state: "suspect", reason: `${why}; it is being probed` };
  }
}

function published({ published: how }: Candidate): string {
  return how === undefined
    ? "no EndpointSlice lists it"
    : "its EndpointSlice lists it as not ready";
}
