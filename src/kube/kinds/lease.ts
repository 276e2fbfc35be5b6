// A lease: a leader's lock, or a kubelet's heartbeat when it lies in `kube-node-lease`.
import type { WallMs } from "../../environment/clock.ts";
import { optionalInteger, optionalString, optionalTime, recordAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface Lease {
  readonly metadata: ObjectMeta;
  /** Empty if the lock has no holder. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number | undefined;
  /** By the holder's clock: only its change means something to others. */
  readonly acquireTime: WallMs | undefined;
  readonly renewTime: WallMs | undefined;
  readonly leaseTransitions: number;
}

export const leaseKind: Kind<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  resource: "leases",
  namespaced: true,
  project: projectLease,
};

function projectLease(raw: unknown, similar?: Lease): Lease {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  return {
    metadata: projectMetadata(object, leaseKind, similar?.metadata),
    holderIdentity: optionalString(spec, "holderIdentity") ?? "",
    leaseDurationSeconds: optionalInteger(spec, "leaseDurationSeconds"),
    acquireTime: optionalTime(spec, "acquireTime"),
    renewTime: optionalTime(spec, "renewTime"),
    leaseTransitions: optionalInteger(spec, "leaseTransitions") ?? 0,
  };
}
