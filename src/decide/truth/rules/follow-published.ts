// What is left when the pod watch cannot say: services without a selector (rule 9), no permission to
// watch pods, a stale watch, a pod that the watch has yet to show. Then the published endpoints are
// the best there is, and the reason says what is missing.
import type { Candidate, TruthRule, Verdict } from "../verdict.ts";

export const followPublished: TruthRule = {
  name: "follow the published endpoints",
  decide(candidate) {
    const { published } = candidate;
    if (published === undefined) {
      return { state: "out", reason: `it is not published, and ${whyNotPods(candidate)}` };
    }
    if (published.ready) {
      return { state: "active", reason: `it is published as ready, and ${whyNotPods(candidate)}` };
    }
    return published.serving && published.terminating
      ? { state: "draining", reason: "it is published as terminating and still serving" }
      : { state: "out", reason: "it is published as not ready" };
  },
};

/** For services that asked for it, and when everything shall: exactly what is published as ready. */
export const followSlicesExactly: TruthRule = {
  name: "follow the slices exactly",
  decide({ published }): Verdict {
    if (published?.ready === true) {
      return { state: "active", reason: "it is published as ready, and the slices are followed" };
    }
    const how = published === undefined ? "not published" : "published as not ready";
    return { state: "out", reason: `it is ${how}, and the slices are followed` };
  },
};

function whyNotPods({ service, podWatch, pod, podUid }: Candidate): string {
  if (service.selector === undefined) return "the service has no selector";
  if (podWatch.state === "refused") return "pods may not be watched";
  if (podWatch.state === "stale") return `the pod watch is stale: ${podWatch.detail}`;
  if (podUid === undefined) return "it names no pod";
  return pod === undefined ? "its pod has not been seen yet" : "its pod does not decide";
}
