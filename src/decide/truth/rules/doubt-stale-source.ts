// Rule 5, doubt a stale source. When the pod watch is stale and the slices are not, the slices are
// followed; a pod that was ready when last seen and that they do not call ready gets a request only
// when nothing better is left. When both are stale nothing is believed but what was last known, which is
// what the pods said, and requests that fail decide the rest.
import { isLastTruth } from "../last-truth.ts";
import type { Candidate, TruthRule, Verdict } from "../verdict.ts";
import { forNow } from "./leave-at-once.ts";

export const doubtStaleSource: TruthRule = {
  name: "doubt a stale source",
  doubt: (candidate) => (isLateJoin(candidate) ? "unpublished" : undefined),
  decide(candidate) {
    if (isLateJoin(candidate)) return lateJoin(candidate);
    return isLastTruth(candidate) ? lastTruth(candidate) : undefined;
  },
};

function lastTruth(candidate: Candidate): Verdict | undefined {
  const { pod, podWatch } = candidate;
  if (pod === undefined) return undefined;
  const lastHeard = `as last heard: ${podWatch.detail}`;
  const left = forNow(candidate);
  if (left !== undefined) return { ...left, reason: `${left.reason}, ${lastHeard}` };
  const isReady = pod.pod.ready === "True";
  const why = isReady ? "its pod was ready" : "the service takes pods that are not ready";
  return { state: "active", reason: `${why}, ${lastHeard}` };
}

/**
 * Ready when last seen, and the slices, which are fresher or at least the later word, have not heard
 * of that, have lost it, or say otherwise. What they say may be older, though, when their controller
 * is behind; and that they too may be out of date is no reason to believe them more.
 */
function isLateJoin(candidate: Candidate): boolean {
  const { pod, podWatch, published, probed } = candidate;
  if (pod === undefined || probed === undefined) return false;
  if (published?.ready === true || published?.terminating === true) return false;
  if (podWatch.state !== "stale" || isLastTruth(candidate)) return false;
  return pod.pod.ready === "True" && forNow(candidate) === undefined;
}

function lateJoin({ probed, podWatch, published }: Candidate): Verdict {
  const said = published === undefined ? "no slice names it" : "it is published as not ready";
  const why = `${said}, and its pod was ready when last seen: ${podWatch.detail}`;
  switch (probed) {
    case "silent":
      return { state: "out", reason: `${why}; it does not answer a probe` };
    case "answers":
      return { state: "suspect", reason: `${why}; it answers a probe` };
    default:
      return { state: "suspect", reason: `${why}; it is being probed` };
  }
}
