// A pod with its owners, and whole: what the endpoint, workload and node controllers share one watch
// for. A PUT of a pod's status must carry what it does not mean to change.
import { isRecord, listAt, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import type { Kind } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { type ContainerPort, type Pod, podKind } from "../../kube/kinds/pod.ts";
import { type OwnerReference, ownersOf } from "./whole-object.ts";

export interface OwnedPod extends Pod {
  readonly owners: readonly OwnerReference[];
  /** Of init containers that keep running beside the others. */
  readonly sidecarPorts: readonly ContainerPort[];
  readonly raw: RawRecord;
}

export const ownedPodKind: Kind<OwnedPod> = {
  ...podKind,
  project: (object, similar) => {
    const raw = objectRecord(object);
    const owners = ownersOf(recordAt(raw, "metadata"));
    return { ...podKind.project(raw, similar), owners, sidecarPorts: sidecarPortsOf(raw), raw };
  },
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

const none: readonly ContainerPort[] = [];

function sidecarPortsOf(raw: RawRecord): readonly ContainerPort[] {
  const spec = recordAt(raw, "spec");
  const containers = listAt(spec, "initContainers").filter(
    (container) => isRecord(container) && container["restartPolicy"] === "Always",
  );
  if (containers.length === 0) return none;
  return podKind.project({ ...raw, spec: { ...spec, containers } }).ports;
}
