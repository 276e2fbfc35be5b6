// The second half of the locks `endpointsleases` and `configmapsleases` (client-go
// resourcelock/multilock.go): whoever has written the first object writes the same record into a
// Lease, so that components that know only one of the two agree on who leads.
import type { KubeClient } from "../../kube/client/client.ts";
import type { RequestLimits } from "../../kube/leader/lease-lock.ts";
import type { LeaderRecord, LockReference } from "../../kube/leader/lease-record.ts";
import { readLockObject, writeLockObject } from "./lock-object.ts";

/** Throws as the client does. */
export async function mirrorRecord(
  client: KubeClient,
  mirror: LockReference,
  record: LeaderRecord,
  limits: RequestLimits,
): Promise<void> {
  const current = await readLockObject(client, mirror, limits);
  const { acquireTime, renewTime } = record;
  const precise = { ...record, acquireTime: micro(acquireTime), renewTime: micro(renewTime) };
  await writeLockObject(client, mirror, current, precise, limits);
}

/** A Lease has six digits, whatever the annotation has. */
function micro(time: string | undefined): string | undefined {
  return time?.replace(/(?:\.\d+)?Z$/, ".000000Z");
}
