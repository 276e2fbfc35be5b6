// Rule 4, know the address's owner: an address that now belongs to another pod leads to another
// program, so the old endpoint is out at once, even if it answers. In the host's network pods share
// their node's address; there it is the port that changes hands.
import { isTerminating, type Pod } from "../../../kube/kinds/pod.ts";
import { compareText } from "../../compare-text.ts";
import { type Candidate, isPublishedReady, type TruthRule } from "../verdict.ts";

export const knowTheOwner: TruthRule = {
  name: "know the address's owner",
  decide(candidate) {
    const { podUid, addressClaimants, service } = candidate;
    if (addressClaimants === undefined || podUid === undefined) return undefined;
    if (service.selector === undefined) return undefined;
    let owner: Pod | undefined;
    for (const pod of addressClaimants) {
      if (pod.metadata.uid === podUid || !takes(pod, candidate)) continue;
      if (owner === undefined || isLikelierOrFirst(pod, owner)) owner = pod;
    }
    if (owner === undefined) return undefined;
    const { namespace, name } = owner.metadata;
    const despite = isPublishedReady(candidate)
      ? ", but its EndpointSlice still lists it as ready"
      : "";
    return {
      state: "out",
      reason: `its address now belongs to another pod, ${namespace}/${name}${despite}`,
    };
  },
};

/** Whether the address and port of the candidate have passed to this pod. */
function takes(pod: Pod, candidate: Candidate): boolean {
  const { port, isPodAddress, pod: own, podWatch, gone } = candidate;
  if (pod.hostNetwork && !pod.ports.some((one) => isHttpAt(one, port))) return false;
  if (own !== undefined && isPodAddress) return isLikelier(pod, own.pod);
  // Of the candidate's own pod nothing is known, so the other must be known to be there now; or it is
  // known to be gone, and the other was the last to have the address.
  return (podWatch.state === "fresh" || gone !== undefined) && !isTerminating(pod);
}

/** Requests go by TCP; another program may have the same port of UDP. */
function isHttpAt({ containerPort, protocol }: Pod["ports"][number], port: number): boolean {
  return containerPort === port && protocol === "TCP";
}

/**
 * The later one was given the address after the other had lost it, and has it until it is gone, also
 * while it terminates. Of two of the same second the one that stays has it, or the one that is ready.
 */
function isLikelier(a: Pod, b: Pod): boolean {
  const laterBy = gotItAt(a) - gotItAt(b);
  if (laterBy !== 0) return laterBy > 0;
  if (isTerminating(a) !== isTerminating(b)) return isTerminating(b);
  return a.ready === "True" && b.ready !== "True";
}

/**
 * When its kubelet found its containers ready, for a pod may be created long before it gets an address.
 * Only kubelets write that, so it stands as it was when a node is lost.
 */
function gotItAt(pod: Pod): number {
  const { containersReady, containersReadyTransitionTime: readyAt, metadata } = pod;
  return (containersReady === "True" ? readyAt : undefined) ?? metadata.creationTimestamp ?? 0;
}

/** Decides between any two, so that the reason is the same whatever the order. */
function isLikelierOrFirst(a: Pod, b: Pod): boolean {
  if (isLikelier(a, b)) return true;
  return !isLikelier(b, a) && compareText(a.metadata.uid, b.metadata.uid) < 0;
}
