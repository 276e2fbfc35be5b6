// The record of a leader lock, in any of the forms Kubernetes has used: a Lease, or an annotation
// on a ConfigMap or on Endpoints. All are read into one `LeaderRecord`; only Leases are written.
// Times stay text: they come from another clock and are shown, never compared.
import {
  isRecord,
  MalformedObjectError,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
} from "../kinds/fields.ts";
import { collectionPath, objectPath, type ResourcePlace } from "../kinds/kind.ts";

export interface LockReference {
  readonly kind: "Lease" | "ConfigMap" | "Endpoints";
  readonly namespace: string;
  readonly name: string;
}

export interface LeaderRecord {
  /** Empty if the lock has no holder. */
  readonly holder: string;
  /** How long others leave an unchanged record alone. */
  readonly leaseDurationMs: number;
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly transitions: number;
}

/** Where older Kubernetes components keep the record. */
export const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";

const lockPlaces: Readonly<Record<LockReference["kind"], ResourcePlace>> = {
  Lease: { group: "coordination.k8s.io", version: "v1", resource: "leases", namespaced: true },
  ConfigMap: { group: "", version: "v1", resource: "configmaps", namespaced: true },
  Endpoints: { group: "", version: "v1", resource: "endpoints", namespaced: true },
};

export function lockPath(lock: LockReference): string {
  return objectPath(lockPlaces[lock.kind], lock);
}

export function lockCollectionPath(lock: LockReference): string {
  return collectionPath(lockPlaces[lock.kind], lock.namespace);
}

/**
 * Undefined when the object carries no leader record. Throws `MalformedObjectError` when it carries
 * one that cannot be understood.
 */
export function readLeaderRecord(object: unknown): LeaderRecord | undefined {
  const raw = requiredRecord(object, "the lock");
  // A Lease without a spec is a lock that has never had a holder.
  if (raw["kind"] === "Lease") return readFields(recordAt(raw, "spec"), "leaseTransitions");
  const annotations = recordAt(recordAt(raw, "metadata"), "annotations");
  const text = optionalString(annotations, leaderAnnotation);
  return text === undefined ? undefined : readFields(parseRecord(text), "leaderTransitions");
}

/**
 * Two records are the same exactly if this text is: a holder who renews changes it, and nothing
 * else about a holder can be known from afar.
 */
export function recordText(record: LeaderRecord): string {
  const { holder, leaseDurationMs, acquireTime, renewTime, transitions } = record;
  return JSON.stringify([holder, leaseDurationMs, acquireTime, renewTime, transitions]);
}

/** The Lease to write. Labels, annotations and other fields of the Lease it replaces are kept. */
export function leaseWith(lock: LockReference, current: unknown, record: LeaderRecord): object {
  const { holder, leaseDurationMs, acquireTime, renewTime, transitions } = record;
  const base = isRecord(current) ? current : {};
  return {
    ...base,
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { ...recordAt(base, "metadata"), name: lock.name, namespace: lock.namespace },
    spec: {
      ...recordAt(base, "spec"),
      holderIdentity: holder,
      leaseDurationSeconds: leaseDurationMs / 1000,
      acquireTime,
      renewTime,
      leaseTransitions: transitions,
    },
  };
}

function parseRecord(text: string): RawRecord {
  try {
    return requiredRecord(JSON.parse(text), leaderAnnotation);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new MalformedObjectError(`${leaderAnnotation} is not JSON`, { cause: error });
  }
}

function readFields(source: RawRecord, transitionsField: string): LeaderRecord {
  return {
    holder: optionalString(source, "holderIdentity") ?? "",
    leaseDurationMs: (optionalNumber(source, "leaseDurationSeconds") ?? 0) * 1000,
    acquireTime: optionalString(source, "acquireTime"),
    renewTime: optionalString(source, "renewTime"),
    transitions: optionalNumber(source, transitionsField) ?? 0,
  };
}
