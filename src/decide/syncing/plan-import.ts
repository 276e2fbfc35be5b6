// The ServiceImport of an exported service in the access cluster, and its derived Service, which holds
// the clusterset IP. Nothing of them changes while a cluster whose export they show is not known.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import { isHeadless, type Service, type ServicePort } from "../../kube/kinds/service.ts";
import { multiclusterGroup } from "../../kube/kinds/service-export.ts";
import type { ServiceImport } from "../../kube/kinds/service-import.ts";
import { type CopyNames, isOwned, ownedLabels } from "./copy-names.ts";
import type { MergedExports } from "./merge-exports.ts";
import { rawPort, samePorts } from "./plan-service.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";

/**
 * `beside`: a ServiceImport beside the headless Service. `derived`: with an address, which a derived
 * Service holds, so that the cluster can have a Service of the same name itself.
 */
export const importForms = ["none", "beside", "derived"] as const;
export type ImportForm = (typeof importForms)[number];

/** The ServiceImports that the access cluster can store. */
export interface ImportSupport {
  readonly version: string;
  /** The fields of its definition; an API server drops others. Undefined when all are stored. */
  readonly spec: ReadonlySet<string> | undefined;
  readonly status: ReadonlySet<string> | undefined;
}

export interface ImportInput {
  readonly namespace: string;
  /** Of the exported service. */
  readonly name: string;
  readonly names: CopyNames;
  readonly merged: MergedExports | undefined;
  /** Lockstep's own, or none. */
  readonly present: ServiceImport | undefined;
  /** Undefined where there is no such kind, or no permission. */
  readonly support: ImportSupport | undefined;
  /** The addresses of the derived Service; undefined where there is none by design. */
  readonly addresses: Pick<Service, "clusterIPs" | "ipFamilies"> | undefined;
}

/** The exporting clusters whose properties are in the object. */
const exportedByAnnotation = "lockstep.dev/exported-by";
/** The labels and annotations that were exported, so that one that is not any more is removed. */
const exportedKeysAnnotation = "lockstep.dev/exported-keys";
const derivedServiceAnnotation = "multicluster.kubernetes.io/derived-service";

/** The clusters whose exports a ServiceImport shows. */
export function exportersOf({ annotations }: ServiceImport): readonly string[] {
  return (annotations[exportedByAnnotation] ?? "").split(",").filter((name) => name !== "");
}

export function isOwnedImport(names: CopyNames, found: ServiceImport | undefined): boolean {
  return found !== undefined && isOwned(names, found);
}

/** Of a slice that goes with it, as the API wants it. */
export function importReference(found: ServiceImport, { version }: ImportSupport): RawRecord {
  const { name, uid } = found.metadata;
  return { apiVersion: `${multiclusterGroup}/${version}`, kind: "ServiceImport", name, uid };
}

/** One write at most: the status follows when the object is there as it should be. */
export function planImport(input: ImportInput): readonly SyncWrite[] {
  const { merged, present, support } = input;
  if (support === undefined) return [];
  if (merged === undefined) {
    if (present === undefined) return [];
    return [deletion("ServiceImport", present.metadata, "no cluster exports the service any more")];
  }
  if (present === undefined) return [create(input, merged, support)];
  return [
    ...updateObject(input, merged, present, support),
    ...updateStatus(merged, present, support),
  ].slice(0, 1);
}

function create(input: ImportInput, merged: MergedExports, support: ImportSupport): SyncWrite {
  const { namespace, name } = input;
  const object = {
    apiVersion: `${multiclusterGroup}/${support.version}`,
    kind: "ServiceImport",
    metadata: { namespace, name, ...marks(input, merged) },
    spec: wantedSpec(input, merged, support),
  };
  const summary = `exported by ${merged.clusters.join(", ")}`;
  return { type: "create", kind: "ServiceImport", namespace, name, object, summary };
}

function updateObject(
  input: ImportInput,
  merged: MergedExports,
  { metadata, annotations, spec }: ServiceImport,
  support: ImportSupport,
): readonly SyncWrite[] {
  const wanted = marks(input, merged);
  const [labelsBefore, annotationsBefore] = exportedKeys(annotations);
  const patch = {
    labels: difference(wanted.labels, metadata.labels, labelsBefore),
    annotations: difference(wanted.annotations, annotations, annotationsBefore),
    spec: difference(wantedSpec(input, merged, support), spec, Object.keys(spec)),
  };
  if (Object.values(patch).every((part) => part === undefined)) return [];
  const { namespace, name, resourceVersion } = metadata;
  const { labels, annotations: notes } = patch;
  return [
    {
      type: "update",
      kind: "ServiceImport",
      namespace,
      name,
      resourceVersion,
      summary: `exported by ${merged.clusters.join(", ")}`,
      patch: {
        metadata: {
          resourceVersion,
          ...(labels === undefined ? {} : { labels }),
          ...(notes === undefined ? {} : { annotations: notes }),
        },
        ...(patch.spec === undefined ? {} : { spec: patch.spec }),
      },
    },
  ];
}

function updateStatus(
  { clusters }: MergedExports,
  { metadata, status }: ServiceImport,
  support: ImportSupport,
): readonly SyncWrite[] {
  const wanted = supported(
    {
      clusters: clusters.map((cluster) => ({ cluster })),
      endpointSliceObjects: "Present",
    },
    support.status,
  );
  const patch = difference(wanted, status, []);
  if (patch === undefined) return [];
  const { namespace, name, resourceVersion } = metadata;
  return [
    {
      type: "update",
      kind: "ServiceImport",
      namespace,
      name,
      resourceVersion,
      subresource: "status",
      summary: `exported by ${clusters.join(", ")}`,
      patch: { metadata: { resourceVersion }, status: patch },
    },
  ];
}

/** The exported keys first: none of them can replace one of ours. */
function marks({ names, name, addresses }: ImportInput, merged: MergedExports) {
  const keys = [Object.keys(merged.labels).sort(), Object.keys(merged.annotations).sort()];
  const annotations: Record<string, string> = {
    ...merged.annotations,
    [exportedByAnnotation]: merged.clusters.join(","),
    [exportedKeysAnnotation]: JSON.stringify(keys),
    ...(addresses === undefined ? {} : { [derivedServiceAnnotation]: names.targetName(name) }),
  };
  return { labels: { ...merged.labels, ...ownedLabels(names) }, annotations };
}

/** Of labels and of annotations. An annotation in another form counts as empty. */
function exportedKeys(annotations: StringMap): readonly [readonly string[], readonly string[]] {
  try {
    const [labels, notes]: unknown[] = JSON.parse(annotations[exportedKeysAnnotation] ?? "[]");
    return [strings(labels), strings(notes)];
  } catch {
    // Another client has changed it: nothing is removed then.
    return [[], []];
  }
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function wantedSpec(
  { addresses }: ImportInput,
  merged: MergedExports,
  support: ImportSupport,
): RawRecord {
  const { type, sessionAffinity, affinityTimeoutSeconds: timeoutSeconds } = merged;
  const hasAddress = type === "ClusterSetIP" && addresses !== undefined;
  const families = hasAddress ? addresses.ipFamilies : merged.ipFamilies;
  const { internalTrafficPolicy, trafficDistribution } = merged;
  const spec = {
    type,
    ports: merged.ports.map(importPort),
    ...(hasAddress ? { ips: addresses.clusterIPs } : {}),
    ...(families.length === 0 ? {} : { ipFamilies: families }),
    sessionAffinity,
    ...(timeoutSeconds === undefined
      ? {}
      : { sessionAffinityConfig: { clientIP: { timeoutSeconds } } }),
    internalTrafficPolicy,
    ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
  };
  return supported(spec, support.spec);
}

function importPort({ name, port, protocol, appProtocol }: ServicePort): RawRecord {
  return {
    ...(name === "" ? {} : { name }),
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function supported(record: RawRecord, fields: ReadonlySet<string> | undefined): RawRecord {
  if (fields === undefined) return record;
  return Object.fromEntries(Object.entries(record).filter(([field]) => fields.has(field)));
}

/**
 * A merge patch that makes `held` have these values, and none of `removable` beside them; undefined
 * when that is so already.
 */
function difference(
  wanted: RawRecord,
  held: RawRecord,
  removable: readonly string[],
): RawRecord | undefined {
  const patch: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(wanted)) {
    const change = changed(value, held[field]);
    if (change !== undefined) patch[field] = change;
  }
  for (const field of removable) {
    if (!(field in wanted) && held[field] !== undefined) patch[field] = null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function changed(wanted: unknown, held: unknown): unknown {
  if (isRecord(wanted) && isRecord(held)) return difference(wanted, held, Object.keys(held));
  return canonical(wanted) === canonical(held) ? undefined : wanted;
}

/** Fields of one order: the API server stores them in another than they are sent. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, one: unknown) =>
    isRecord(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

export interface DerivedInput {
  readonly namespace: string;
  /** Of the derived Service. */
  readonly name: string;
  readonly names: CopyNames;
  readonly merged: MergedExports | undefined;
  /** Lockstep's own, or none. */
  readonly present: Service | undefined;
  /** Whether slices of it stay that are not of a known cluster. */
  readonly isStillUsed: boolean;
}

/** One write at most. */
export function planDerivedService(input: DerivedInput): readonly SyncWrite[] {
  const { merged, present, isStillUsed } = input;
  if (merged === undefined) {
    if (present === undefined || isStillUsed) return [];
    return [deletion("Service", present.metadata, "no cluster exports the service any more")];
  }
  const { namespace, name, names } = input;
  const place = { kind: "Service", namespace, name } as const;
  const summary = `exported by ${merged.clusters.join(", ")}`;
  if (present === undefined) {
    const object = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace, name, labels: ownedLabels(names) },
      spec: {
        ...(merged.type === "Headless" ? { clusterIP: "None" } : {}),
        ...(merged.ipFamilies.length > 1 ? { ipFamilyPolicy: "PreferDualStack" } : {}),
        ...derivedSpec(merged),
      },
    };
    return [{ type: "create", ...place, object, summary }];
  }
  // An address can be neither given to a Service later nor taken from it.
  if (isHeadless(present) !== (merged.type === "Headless")) {
    return [deletion("Service", present.metadata, `it becomes ${merged.type}`)];
  }
  if (isDerivedRight(present, merged)) return [];
  const { resourceVersion } = present.metadata;
  const patch = {
    metadata: { resourceVersion },
    spec: {
      ...(present.selector === undefined ? {} : { selector: null }),
      ...(present.traffic?.trafficDistribution === undefined ? {} : { trafficDistribution: null }),
      ...(present.sessionAffinity === "ClientIP" && merged.sessionAffinity !== "ClientIP"
        ? { sessionAffinityConfig: null }
        : {}),
      ...derivedSpec(merged),
    },
  };
  return [{ type: "update", ...place, patch, resourceVersion, summary }];
}

function derivedSpec(merged: MergedExports): RawRecord {
  const { trafficDistribution, affinityTimeoutSeconds: timeoutSeconds } = merged;
  return {
    ports: derivedPorts(merged).map(rawPort),
    ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
    ...(merged.type === "Headless"
      ? {}
      : {
          sessionAffinity: merged.sessionAffinity,
          ...(timeoutSeconds === undefined
            ? {}
            : { sessionAffinityConfig: { clientIP: { timeoutSeconds } } }),
          internalTrafficPolicy: merged.internalTrafficPolicy,
        }),
  };
}

/** Slices name the port of each endpoint, so that the target port leads nowhere. */
function derivedPorts({ ports }: MergedExports): readonly ServicePort[] {
  return ports.map((port) => ({ ...port, targetPort: port.port }));
}

function isDerivedRight(present: Service, merged: MergedExports): boolean {
  const { traffic } = present;
  const isBalancedRight =
    merged.type === "Headless" ||
    (present.sessionAffinity === merged.sessionAffinity &&
      traffic?.affinityTimeoutSeconds === merged.affinityTimeoutSeconds &&
      (traffic?.internalTrafficPolicy ?? "Cluster") === merged.internalTrafficPolicy);
  return (
    isBalancedRight &&
    present.selector === undefined &&
    traffic?.trafficDistribution === merged.trafficDistribution &&
    samePorts(present.ports, derivedPorts(merged))
  );
}
