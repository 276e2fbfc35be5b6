// Texts of an object that was recorded or saved, which may be anything of any length.
import {
  isRecord,
  MalformedObjectError,
  optionalString,
  type RawRecord,
  requiredString,
} from "../kube/kinds/fields.ts";

/** The longest name that Kubernetes allows; uids and addresses are shorter. */
export const nameLengthMax = 253;

/** Empty where there is no such text. */
export function metadataText(
  object: RawRecord,
  field: "uid" | "namespace" | "resourceVersion",
): string {
  const metadata = object["metadata"];
  const text = isRecord(metadata) ? metadata[field] : undefined;
  return typeof text === "string" ? text : "";
}

/** A name, a uid or an address. Throws `MalformedObjectError` for one that is absent or too long. */
export function requiredName(record: RawRecord, field: string): string {
  return notTooLong(requiredString(record, field), field);
}

/** The same, where it may be absent. */
export function optionalName(record: RawRecord, field: string): string | undefined {
  const name = optionalString(record, field);
  return name === undefined ? undefined : notTooLong(name, field);
}

/** Throws `MalformedObjectError` for one that no Kubernetes would take. */
export function notTooLong(name: string, field: string): string {
  if (name.length <= nameLengthMax) return name;
  throw new MalformedObjectError(`${field} has more than ${nameLengthMax} characters`);
}
