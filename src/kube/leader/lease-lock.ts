// Reading and writing one leader lock at the API server. A write carries the resourceVersion it is
// based on, so of two that start from the same version the server refuses one. Reads leave the
// resourceVersion unset: they are answered with what is true now, not from a cache.
import { type KubeClient, parseJson, StatusError } from "../client/client.ts";
import { MalformedObjectError, recordAt, requiredRecord } from "../kinds/fields.ts";
import {
  type LeaderRecord,
  type LockReference,
  leaseWith,
  lockCollectionPath,
  lockPath,
  readLeaderRecord,
} from "./lease-record.ts";

/** A lock as it was read or written: the record, and the object a next write is based on. */
export interface LockVersion {
  readonly record: LeaderRecord;
  readonly object: unknown;
}

export interface RequestLimits {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

/** Undefined when there is no such object or it carries no record. Throws as the client does. */
export async function readLock(
  client: KubeClient,
  lock: LockReference,
  limits: RequestLimits,
): Promise<LockVersion | undefined> {
  try {
    const path = lockPath(lock);
    const object = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
    const record = readLeaderRecord(object);
    return record === undefined ? undefined : { record, object };
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

/** Writes a Lease that must not exist yet. */
export async function createLease(
  client: KubeClient,
  lock: LockReference,
  record: LeaderRecord,
  limits: RequestLimits,
): Promise<LockVersion> {
  const path = lockCollectionPath(lock);
  const body = leaseWith(lock, undefined, record);
  const answer = await client.request({ verb: "create", method: "POST", path, body, ...limits });
  return writtenVersion(parseJson(answer));
}

/** Replaces a Lease if it is still at the version that `current` was read at. */
export async function updateLease(
  client: KubeClient,
  lock: LockReference,
  current: LockVersion,
  record: LeaderRecord,
  limits: RequestLimits,
): Promise<LockVersion> {
  const path = lockPath(lock);
  const body = leaseWith(lock, current.object, record);
  const answer = await client.request({ verb: "update", method: "PUT", path, body, ...limits });
  return writtenVersion(parseJson(answer));
}

/** Deletes it if it is still at the version that `current` was read at. */
export async function deleteLease(
  client: KubeClient,
  lock: LockReference,
  current: LockVersion,
  limits: RequestLimits,
): Promise<void> {
  const path = lockPath(lock);
  const metadata = recordAt(requiredRecord(current.object, "the lock"), "metadata");
  const { uid, resourceVersion } = metadata;
  const preconditions = { uid, resourceVersion };
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions };
  await client.request({ verb: "delete", method: "DELETE", path, body, ...limits });
}

function writtenVersion(object: unknown): LockVersion {
  const record = readLeaderRecord(object);
  if (record === undefined) throw new MalformedObjectError("a write was answered with no Lease");
  return { record, object };
}
