// Rule 2, join at once: a ready pod that matches the selector gets requests before the slice lists
// it. It stands after the rules that let a pod leave, so whatever reaches it is neither terminating
// nor ended.
import { isPublishedReady, type TruthRule } from "../verdict.ts";

export const joinAtOnce: TruthRule = {
  name: "join at once",
  decide(candidate) {
    const { pod, podWatch, service, isPodAddress } = candidate;
    if (pod === undefined || !pod.selected || !isPodAddress) return undefined;
    if (podWatch.state !== "fresh") return undefined;
    const isReady = pod.pod.ready === "True";
    if (!isReady && !service.publishNotReadyAddresses) return undefined;
    const why = isReady ? "its pod is ready" : "the service accepts pods that are not ready";
    const early = isPublishedReady(candidate)
      ? ""
      : ", but its EndpointSlice does not list it as ready yet";
    return { state: "active", reason: `${why}${early}` };
  },
};
