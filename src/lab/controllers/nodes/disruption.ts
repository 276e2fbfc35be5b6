// Before a controller of today ends a pod, it writes the reason: a condition that names it, and a terminal phase when no kubelet is left to report one.
import { toTime, type WallMs } from "../../../environment/clock.ts";
import type { KubeRequest } from "../../../kube/client/client.ts";
import { objectPath } from "../../../kube/kinds/kind.ts";
import { type OwnedPod, ownedPodKind } from "../owned-pod.ts";

export function disrupted(
  { metadata }: OwnedPod,
  now: WallMs,
  why: { readonly reason: string; readonly message: string; readonly phase?: "Failed" },
): KubeRequest {
  const { reason, message, phase } = why;
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason,
    message,
    lastTransitionTime: toTime(now),
  };
  return {
    verb: "patch",
    method: "PATCH",
    path: objectPath(ownedPodKind, metadata, "status"),
    contentType: "application/strategic-merge-patch+json",
    body: {
      metadata: { uid: metadata.uid },
      status: { ...(phase === undefined ? {} : { phase }), conditions: [condition] },
    },
  };
}
