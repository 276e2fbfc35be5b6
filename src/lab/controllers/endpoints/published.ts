// Whether a service's Endpoints must be written, and with what: the labels, the annotations and the
// limit of an object beside the subsets. Pure, and by the rules of a version.
import type { WallMs } from "../../../environment/clock.ts";
import { isRecord, listAt, type RawRecord } from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { isHeadless, type Service } from "../../../kube/kinds/service.ts";
import { sameJson } from "../../apiserver/kinds/fields.ts";
import { sameStrings } from "../memberships.ts";
import type { EndpointsRules } from "../profiles.ts";
import type { WholeObject } from "../whole-object.ts";
import type { Subset, SubsetAddress } from "./repack.ts";

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
  const published = listAt(current.raw, "subsets");
  if (rules.comparison === "strict") {
    // What was computed is an empty list, what was read is none: never equal, so each sync writes.
    const areEqual = subsets.length > 0 && sameJson(published, subsets);
    return areEqual && sameStrings(current.metadata.labels, service.metadata.labels);
  }
  return (
    sameJson(withoutVersions(published), subsets) &&
    areLabelsRight(current.metadata.labels, service.metadata.labels, rules) &&
    isCapacityRight(current, rules)
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
  const {
    [triggerTimeAnnotation]: _trigger,
    [overCapacityAnnotation]: _over,
    ...kept
  } = annotations;
  const isOver = rules.capacity !== undefined && addressesIn(subsets) > rules.capacity;
  return {
    labels: labelsFor(service, rules),
    annotations: rules.triggerTime
      ? {
          ...kept,
          ...(triggerTime === undefined ? {} : { [triggerTimeAnnotation]: goTime(triggerTime) }),
          ...(isOver ? { [overCapacityAnnotation]: "truncated" } : {}),
        }
      : annotations,
    subsets: isOver ? truncated(subsets, rules.capacity ?? 0) : subsets,
  };
}

/** RFC 3339 as Go prints it: a fraction only where there is one. */
export function goTime(at: WallMs): string {
  return new Date(at).toISOString().replace(/\.?0*Z$/, "Z");
}

function labelsFor(service: Service, rules: EndpointsRules): StringMap {
  const { labels } = service.metadata;
  if (!rules.headlessLabel) return labels;
  const { [headlessLabel]: _, ...others } = labels;
  return {
    ...others,
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    ...(rules.managedByLabel ? { [managedByLabel]: managedBy } : {}),
  };
}

function areLabelsRight(labels: StringMap, service: StringMap, rules: EndpointsRules): boolean {
  if (rules.managedByLabel && labels[managedByLabel] !== managedBy) return false;
  const { [headlessLabel]: _headless, [managedByLabel]: _managed, ...compared } = labels;
  return sameStrings(compared, service);
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
