// Whether a service's Endpoints must be written, and with what: the labels, the annotations and the
// limit of an object beside the subsets. Pure, and by the rules of a version.
import type { WallMs } from "../../../environment/clock.ts";
import { isRecord, listAt, type RawRecord } from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { sameJson } from "../../../kube/kinds/same-json.ts";
import { isHeadless, type Service } from "../../../kube/kinds/service.ts";
import type { EndpointsRules } from "../../versions/profile.ts";
import { sameStrings } from "../memberships.ts";
import type { WholeObject } from "../whole-object.ts";
import { repack, type Subset, type SubsetAddress } from "./repack.ts";
import { placedIn } from "./stored-subsets.ts";
import { subsetTypes } from "./subsets.ts";

export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";
const headlessLabel = "service.kubernetes.io/headless";
const managedByLabel = "endpoints.kubernetes.io/managed-by";
const managedBy = "endpoint-controller";

export interface PublishedEndpoints {
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly subsets: readonly Subset[];
}

/** True when a PUT would change nothing the controller cares for. */
export function isUpToDate(
  current: WholeObject,
  service: Service,
  subsets: readonly Subset[],
  rules: EndpointsRules,
): boolean {
  // Compared strictly, what was computed is an empty list and what was read is none: never equal, so
  // that each sync of a service without addresses writes.
  if (rules.comparison === "strict" && subsets.length === 0) return false;
  return (
    areSubsetsRight(current.raw, subsets, rules) &&
    areLabelsRight(current.metadata.labels, service.metadata.labels, rules) &&
    isCapacityRight(current, rules)
  );
}

function areSubsetsRight(
  current: RawRecord,
  subsets: readonly Subset[],
  rules: EndpointsRules,
): boolean {
  const isSame = (published: readonly unknown[]) =>
    sameJson(rules.publishesPodVersion ? published : withoutVersions(published), subsets);
  return (
    isSame(listAt(current, "subsets")) ||
    (rules.repacksPublished && isSame(repack(placedIn(current), subsetTypes(rules))))
  );
}

/** `annotations` are those of the object as it is, none for a new one. */
export function publishedEndpoints(
  service: Service,
  subsets: readonly Subset[],
  annotations: StringMap,
  triggerTime: WallMs | undefined,
  rules: EndpointsRules,
): PublishedEndpoints {
  const { capacity } = rules;
  const isOver = capacity !== undefined && addressesIn(subsets) > capacity;
  const set: Record<string, string> = {};
  const removed = new Set<string>();
  if (rules.triggerTime) {
    if (triggerTime === undefined) removed.add(triggerTimeAnnotation);
    else set[triggerTimeAnnotation] = goTime(triggerTime);
  }
  if (isOver) set[overCapacityAnnotation] = "truncated";
  else if (capacity !== undefined) removed.add(overCapacityAnnotation);
  const kept = Object.entries(annotations).filter(([name]) => !removed.has(name));
  return {
    labels: labelsFor(service, rules),
    annotations: { ...Object.fromEntries(kept), ...set },
    subsets: isOver ? truncated(subsets, capacity) : subsets,
  };
}

/** RFC 3339 as Go prints it: a fraction only where there is one. */
export function goTime(at: WallMs): string {
  return new Date(at).toISOString().replace(/\.?0*Z$/, "Z");
}

function labelsFor(service: Service, rules: EndpointsRules): StringMap {
  const { labels } = service.metadata;
  if (rules.headlessLabel === "absent") return labels;
  const { [headlessLabel]: _, ...others } = labels;
  return {
    ...others,
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    ...(rules.managedByLabel ? { [managedByLabel]: managedBy } : {}),
  };
}

function areLabelsRight(labels: StringMap, service: StringMap, rules: EndpointsRules): boolean {
  if (rules.managedByLabel && labels[managedByLabel] !== managedBy) return false;
  const own = Object.entries(labels).filter(
    ([name]) =>
      !(name === headlessLabel && rules.headlessLabel === "written") &&
      !(name === managedByLabel && rules.managedByLabel),
  );
  return sameStrings(Object.fromEntries(own), service);
}

function isCapacityRight(current: WholeObject, { capacity }: EndpointsRules): boolean {
  if (capacity === undefined) return true;
  const published = listAt(current.raw, "subsets").filter(isRecord);
  const count = published.reduce(
    (sum, subset) =>
      sum + listAt(subset, "addresses").length + listAt(subset, "notReadyAddresses").length,
    0,
  );
  return count <= capacity && current.annotations[overCapacityAnnotation] === undefined;
}

function addressesIn(subsets: readonly Subset[]): number {
  return countOf(subsets, "addresses") + countOf(subsets, "notReadyAddresses");
}

function countOf(subsets: readonly Subset[], field: "addresses" | "notReadyAddresses"): number {
  return subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
}

/** Ready addresses stay first; each subset keeps its share, rounded up. */
function truncated(subsets: readonly Subset[], capacity: number): readonly Subset[] {
  const ready = countOf(subsets, "addresses");
  const field = ready > capacity ? "addresses" : "notReadyAddresses";
  const places = ready > capacity ? capacity : capacity - ready;
  const candidates = countOf(subsets, field);
  let left = places;
  return subsets.map((subset) => {
    const all: readonly SubsetAddress[] = subset[field] ?? [];
    const kept = all.slice(0, Math.min(left, Math.ceil((all.length / candidates) * places)));
    left -= kept.length;
    const { addresses, notReadyAddresses: _, ...others } = subset;
    return field === "addresses"
      ? { ...others, addresses: kept }
      : { ...others, ...(addresses && { addresses }), notReadyAddresses: kept };
  });
}

function withoutVersions(subsets: readonly unknown[]): readonly unknown[] {
  return subsets.filter(isRecord).map((subset) => ({
    ...subset,
    addresses: listAt(subset, "addresses").filter(isRecord).map(withoutVersion),
    notReadyAddresses: listAt(subset, "notReadyAddresses").filter(isRecord).map(withoutVersion),
  }));
}

function withoutVersion(address: RawRecord): RawRecord {
  const target = address["targetRef"];
  if (!isRecord(target) || target["resourceVersion"] === undefined) return address;
  const { resourceVersion: _, ...rest } = target;
  return { ...address, targetRef: rest };
}
