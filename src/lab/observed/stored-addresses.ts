// The addresses of a service in a stored object, read from its plain JSON by the rules of the
// endpoint controllers, and with none of the observer's readers. Pure.
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";

/** The address of a pod that the service named like its label `app` should have; else undefined. */
export function podAddress(pod: RawRecord | undefined, app: string): string | undefined {
  const metadata = part(pod, "metadata");
  const status = part(pod, "status");
  if (part(metadata, "labels")?.["app"] !== app) return undefined;
  if (metadata?.["deletionTimestamp"] !== undefined) return undefined;
  if (status?.["phase"] === "Succeeded" || status?.["phase"] === "Failed") return undefined;
  const isReady = records(status, "conditions").some(
    (condition) => condition["type"] === "Ready" && condition["status"] === "True",
  );
  const address = status?.["podIP"];
  return isReady && typeof address === "string" && address !== "" ? address : undefined;
}

/** The ready addresses of an Endpoints object; none when it is gone. */
export function publishedAddresses(endpoints: RawRecord | undefined): readonly string[] {
  return records(endpoints, "subsets")
    .flatMap((subset) => records(subset, "addresses"))
    .flatMap(({ ip }) => (typeof ip === "string" ? [ip] : []));
}

function part(record: RawRecord | undefined, field: string): RawRecord | undefined {
  const value = record?.[field];
  return isRecord(value) ? value : undefined;
}

function records(record: RawRecord | undefined, field: string): readonly RawRecord[] {
  const value = record?.[field];
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
