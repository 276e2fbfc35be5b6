// Rule 6, believe traffic: if requests could not connect, and then a probe cannot either, the
// endpoint gets a request only when nothing better is left, until a probe is answered again. One
// witness is not enough: a connection can fail by bad luck. A proxy soon forgets an unreachable
// endpoint, and sends it nothing meanwhile, so the doubt lasts until an answer ends it.
import type { Candidate, TruthRule, Verdict } from "../verdict.ts";
import { doubtStaleSource } from "./doubt-stale-source.ts";
import { followPublished } from "./follow-published.ts";
import { joinAtOnce } from "./join-at-once.ts";

export const believeTraffic: TruthRule = {
  name: "believe traffic",
  doubt: (candidate) => (wouldServe(candidate) === undefined ? undefined : "traffic"),
  decide(candidate) {
    if (candidate.probed !== "silent") return undefined;
    const otherwise = wouldServe(candidate);
    if (otherwise === undefined) return undefined;
    const why = "but requests to it fail, and it does not answer probes";
    return { state: "suspect", reason: `${otherwise.reason}, ${why}` };
  },
};

/** Why it would get requests, were it not for those that failed; undefined for all others. */
function wouldServe(candidate: Candidate): Verdict | undefined {
  if (!candidate.unreached) return undefined;
  const unasked: Candidate = { ...candidate, probed: "unknown" };
  const verdict =
    joinAtOnce.decide(unasked) ??
    doubtStaleSource.decide(unasked) ??
    followPublished.decide(unasked);
  return verdict?.state === "active" ? verdict : undefined;
}
