// A field of the metadata of an object that somebody saved, which may be anything.
import { isRecord, type RawRecord } from "../kube/kinds/fields.ts";

/** Empty where there is no such text. */
export function metadataText(
  object: RawRecord,
  field: "uid" | "namespace" | "resourceVersion",
): string {
  const metadata = object["metadata"];
  const text = isRecord(metadata) ? metadata[field] : undefined;
  return typeof text === "string" ? text : "";
}
