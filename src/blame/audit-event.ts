// A line of a cluster's audit log, where it says how an object was written: when, to the microsecond,
// and what became of it. Only the level RequestResponse has the object.
import {
  isRecord,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";
import { metadataText } from "../recording/metadata-text.ts";

/** An object as it was written. */
export interface AuditedWrite {
  readonly atMs: number;
  readonly kind: string;
  readonly object: RawRecord;
  /** The object is gone by this. */
  readonly isDeleted: boolean;
  /** It was not there before. */
  readonly isCreated: boolean;
  /** The version that its writer had before it; empty where that is not said. */
  readonly basedOn: string;
}

export function isAuditEvent(record: RawRecord): boolean {
  const version = record["apiVersion"];
  return record["kind"] === "Event" && String(version).startsWith("audit.k8s.io/");
}

/** Undefined for one that shows no object that was written. Throws `MalformedObjectError`. */
export function auditedWrite(event: RawRecord): AuditedWrite | undefined {
  if (event["stage"] !== "ResponseComplete") return undefined;
  const code = optionalNumber(recordAt(event, "responseStatus"), "code") ?? 0;
  const verb = optionalString(event, "verb") ?? "";
  if (code < 200 || code >= 300 || !writes.has(verb)) return undefined;
  const atMs = Date.parse(optionalString(event, "stageTimestamp") ?? "");
  const object = event["responseObject"];
  if (Number.isNaN(atMs) || !isRecord(object)) return undefined;
  const kind = optionalString(object, "kind") ?? "";
  const isDeleted = verb === "delete" && !isEnding(object);
  const asked = event["requestObject"];
  const basedOn =
    verb === "update" && isRecord(asked) ? metadataText(asked, "resourceVersion") : "";
  return { atMs, kind, object, isDeleted, isCreated: verb === "create", basedOn };
}

const writes: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

/** Deletion was requested with a grace period: the object stays until it is removed. */
function isEnding(object: RawRecord): boolean {
  const metadata = recordAt(object, "metadata");
  const graceSeconds = optionalNumber(metadata, "deletionGracePeriodSeconds") ?? 0;
  return optionalString(metadata, "deletionTimestamp") !== undefined && graceSeconds > 0;
}
