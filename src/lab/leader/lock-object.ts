// The object a leader lock is kept in, as client-go's resource locks read and write it: a Lease, or
// an annotation on a ConfigMap or on Endpoints. A write goes on top of the object that was read, so
// labels, data and the resourceVersion of that read travel with it.
import { toMicroTime, toTime, type WallMs } from "../../environment/clock.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { recordAt, requiredRecord } from "../../kube/kinds/fields.ts";
import {
  createLease,
  type LockVersion,
  type RequestLimits,
  updateLease,
} from "../../kube/leader/lease-lock.ts";
import {
  type LeaderRecord,
  type LockReference,
  leaderAnnotation,
  lockCollectionPath,
  lockPath,
  readLeaderRecord,
} from "../../kube/leader/lease-record.ts";

/** An object without the annotation: the lock is free. */
const noRecord: LeaderRecord = {
  holder: "",
  leaseDurationMs: 0,
  acquireTime: undefined,
  renewTime: undefined,
  transitions: 0,
};

/** Undefined when there is no such object. Throws as the client does. */
export async function readLockObject(
  client: KubeClient,
  lock: LockReference,
  limits: RequestLimits,
): Promise<LockVersion | undefined> {
  try {
    const path = lockPath(lock);
    const object = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
    return { record: readLeaderRecord(object) ?? noRecord, object };
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

/** Creates the object, or replaces the version that was read; a later version is a conflict. */
export async function writeLockObject(
  client: KubeClient,
  lock: LockReference,
  current: LockVersion | undefined,
  record: LeaderRecord,
  limits: RequestLimits,
): Promise<LockVersion> {
  if (lock.kind === "Lease") {
    return current === undefined
      ? await createLease(client, lock, record, limits)
      : await updateLease(client, lock, current, record, limits);
  }
  const body = annotatedWith(lock, current?.object, record);
  const answer =
    current === undefined
      ? await client.request({
          verb: "create",
          method: "POST",
          path: lockCollectionPath(lock),
          body,
          ...limits,
        })
      : await client.request({
          verb: "update",
          method: "PUT",
          path: lockPath(lock),
          body,
          ...limits,
        });
  const object = parseJson(answer);
  return { record: readLeaderRecord(object) ?? noRecord, object };
}

/** An annotation has whole seconds, as `metav1.Time` is written; a Lease has microseconds. */
export function lockTime({ kind }: Pick<LockReference, "kind">, wall: WallMs): string {
  return kind === "Lease" ? toMicroTime(wall) : toTime(wall);
}

/** The annotation as `LeaderElectionRecord` in resourcelock/interface.go marshals, field by field. */
export function leaderAnnotationText(record: LeaderRecord): string {
  return JSON.stringify({
    holderIdentity: record.holder,
    leaseDurationSeconds: record.leaseDurationMs / 1000,
    acquireTime: record.acquireTime ?? null,
    renewTime: record.renewTime ?? null,
    leaderTransitions: record.transitions,
  });
}

function annotatedWith(lock: LockReference, current: unknown, record: LeaderRecord): object {
  const { kind, namespace, name } = lock;
  const base = current === undefined ? {} : requiredRecord(current, "the lock");
  const metadata = recordAt(base, "metadata");
  const annotations = {
    ...recordAt(metadata, "annotations"),
    [leaderAnnotation]: leaderAnnotationText(record),
  };
  return {
    ...base,
    apiVersion: "v1",
    kind,
    metadata: { ...metadata, namespace, name, annotations },
  };
}
