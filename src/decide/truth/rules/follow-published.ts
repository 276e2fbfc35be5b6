// The fallback when the pod watch cannot decide: services without a selector (rule 9), no
// permission to watch pods, a stale watch, a pod that the watch has yet to show. Then the published
// endpoints are the best source, and the reason says what is missing.
import type { Candidate, TruthRule, Verdict } from "../verdict.ts";

export const followPublished: TruthRule = {
  name: "follow the published endpoints",
  decide(candidate) {
    const { published } = candidate;
    if (published === undefined) {
      return { state: "out", reason: `no EndpointSlice lists it, and ${whyNotPods(candidate)}` };
    }
    if (published.ready) {
      return {
        state: "active",
        reason: `its EndpointSlice lists it as ready, and ${whyNotPods(candidate)}`,
      };
    }
    return published.serving && published.terminating
      ? { state: "draining", reason: "its EndpointSlice lists it as terminating and serving" }
      : { state: "out", reason: "its EndpointSlice lists it as not ready" };
  },
};

/** For services that asked for it, and when everything shall: exactly what is published as ready. */
export const followSlicesExactly: TruthRule = {
  name: "follow the slices exactly",
  decide({ published }): Verdict {
    if (published?.ready === true) {
      return {
        state: "active",
        reason: "its EndpointSlice lists it as ready, and routing follows the slices",
      };
    }
    const how =
      published === undefined
        ? "no EndpointSlice lists it"
        : "its EndpointSlice lists it as not ready";
    return { state: "out", reason: `${how}, and routing follows the slices` };
  },
};

function whyNotPods({ service, podWatch, pod, podUid }: Candidate): string {
  if (service.selector === undefined) return "the service has no selector";
  if (podWatch.state === "refused") return "there is no permission to watch pods";
  if (podWatch.state === "stale") return `the pod watch is stale: ${podWatch.detail}`;
  if (podUid === undefined) return "it has no pod";
  return pod === undefined ? "its pod is not known yet" : "its pod has no influence";
}
