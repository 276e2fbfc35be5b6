// Only for tests: which endpoints one object makes true or lists, by rules written down a second time.
import { isRecord, type RawRecord } from "../../src/kube/kinds/fields.ts";
import type { EndpointName } from "./reported-endpoints.ts";

/** At every port of the service. */
export function podEndpoints(
  pod: RawRecord,
  spec: RawRecord,
  selector: RawRecord,
): readonly EndpointName[] {
  const labels = labelsOf(pod);
  const { podIP: address, phase } = at(pod, "status") ?? {};
  const isSelected = Object.entries(selector).every(([key, value]) => labels[key] === value);
  const isRunning = phase !== "Failed" && phase !== "Succeeded";
  if (!isSelected || !isRunning || typeof address !== "string") return [];
  if (spec["publishNotReadyAddresses"] !== true && !isServing(pod)) return [];
  const uid = String(at(pod, "metadata")?.["uid"]);
  return recordsAt(spec, "ports").map((one) => ({ address, port: Number(one["targetPort"]), uid }));
}

function isServing(pod: RawRecord): boolean {
  const isReady = recordsAt(at(pod, "status"), "conditions").some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
  return isReady && at(pod, "metadata")?.["deletionTimestamp"] === undefined;
}

export function sliceEndpoints(slice: RawRecord): readonly EndpointName[] {
  return recordsAt(slice, "endpoints").flatMap((endpoint) => {
    const { addresses, targetRef } = endpoint;
    const isReady = at(endpoint, "conditions")?.["ready"] !== false;
    if (!isReady || !Array.isArray(addresses)) return [];
    const shared = { address: String(addresses[0]), uid: uidOf(targetRef) };
    return portsOf(slice).map((port) => ({ ...shared, port }));
  });
}

/** Of an Endpoints object; those that are not ready are in a list of their own. */
export function subsetEndpoints(object: RawRecord): readonly EndpointName[] {
  return recordsAt(object, "subsets").flatMap((subset) =>
    recordsAt(subset, "addresses").flatMap(({ ip, targetRef }) =>
      portsOf(subset).map((port) => ({ address: String(ip), port, uid: uidOf(targetRef) })),
    ),
  );
}

export function labelsOf(object: RawRecord): RawRecord {
  return at(object, "metadata", "labels") ?? {};
}

function portsOf(object: RawRecord): readonly number[] {
  return recordsAt(object, "ports").map(({ port }) => Number(port));
}

function uidOf(targetRef: unknown): string {
  const uid = isRecord(targetRef) ? targetRef["uid"] : undefined;
  return typeof uid === "string" ? uid : "";
}

function recordsAt(record: RawRecord | undefined, field: string): readonly RawRecord[] {
  const found = record?.[field];
  return Array.isArray(found) ? found.filter(isRecord) : [];
}

function at(record: RawRecord, ...path: readonly string[]): RawRecord | undefined {
  let found: unknown = record;
  for (const field of path) found = isRecord(found) ? found[field] : undefined;
  return isRecord(found) ? found : undefined;
}
