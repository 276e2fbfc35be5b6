// A pod with its owners: what the endpoint controllers and the workload controllers share one watch
// for.
import { recordAt } from "../../kube/kinds/fields.ts";
import type { Kind } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { type Pod, podKind } from "../../kube/kinds/pod.ts";
import { type OwnerReference, ownersOf } from "./whole-object.ts";

export interface OwnedPod extends Pod {
  readonly owners: readonly OwnerReference[];
}

export const ownedPodKind: Kind<OwnedPod> = {
  ...podKind,
  project: (raw, similar) => ({
    ...podKind.project(raw, similar),
    owners: ownersOf(recordAt(objectRecord(raw), "metadata")),
  }),
};

export function isReady(pod: Pod): boolean {
  return pod.ready === "True";
}

/** The pod's containers have ended for good. */
export function isTerminal({ phase }: Pod): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** Neither ended nor on its way out: what counts as one of a ReplicaSet's pods. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}
