// A journey as it comes back out of a history. The file was written by this program, yet disks and
// people change bytes: a malformed row is ignored, and harms no other.
import type { HopRecord, JourneyRecord } from "../timeline/journey-record.ts";

/** Undefined when it is not as it was written. */
export function keptRecord(bytes: ArrayBuffer): JourneyRecord | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isJourneyRecord(value) ? value : undefined;
  } catch {
    // Bytes that are no JSON; the reader counts them.
    return undefined;
  }
}

/** The fields that viewers rely on. */
function isJourneyRecord(value: unknown): value is JourneyRecord {
  const { hops, ...fields } = fieldsOf(value);
  const texts = ["id", "service", "address", "direction", "outcome"];
  const numbers = ["port", "originMs"];
  return (
    texts.every((name) => typeof fields[name] === "string") &&
    numbers.every((name) => typeof fields[name] === "number") &&
    Array.isArray(hops) &&
    hops.every(isHopRecord)
  );
}

function isHopRecord(value: unknown): value is HopRecord {
  const { hop, witness, state } = fieldsOf(value);
  return typeof hop === "string" && typeof witness === "string" && typeof state === "string";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
