// The exports of one service in all clusters, merged into one service by the rules of KEP-1645: the
// ports are united, and where two exports differ in anything else, the oldest export applies. Each
// difference is a conflict, which every export of the service has to show.
import type { StringMap } from "../../kube/kinds/intern.ts";
import { isHeadless, type Service, type ServicePort } from "../../kube/kinds/service.ts";
import type { ServiceExport } from "../../kube/kinds/service-export.ts";

export interface ExportedService {
  readonly cluster: string;
  readonly service: Service;
  readonly serviceExport: ServiceExport;
}

export interface MergedExports {
  readonly type: "ClusterSetIP" | "Headless";
  readonly ports: readonly ServicePort[];
  readonly sessionAffinity: string;
  /** Undefined without affinity to a client. */
  readonly affinityTimeoutSeconds: number | undefined;
  readonly internalTrafficPolicy: string;
  readonly trafficDistribution: string | undefined;
  /** Of all clusters, those of the oldest export first. */
  readonly ipFamilies: readonly string[];
  readonly labels: StringMap;
  readonly annotations: StringMap;
  /** The exporting clusters, by name. */
  readonly clusters: readonly string[];
  /** The cluster with the oldest export. */
  readonly precedence: string;
  readonly conflicts: readonly ExportConflict[];
}

/** The reasons of the API's condition `Conflict`, and the words for each. */
const conflictSubjects = {
  PortConflict: "ports",
  TypeConflict: "headlessness",
  SessionAffinityConflict: "session affinity",
  SessionAffinityConfigConflict: "session affinity timeout",
  InternalTrafficPolicyConflict: "internal traffic policy",
  TrafficDistributionConflict: "traffic distribution",
  IPFamilyConflict: "IP families",
  LabelsConflict: "exported labels",
  AnnotationsConflict: "exported annotations",
} as const;

export type ExportConflict = keyof typeof conflictSubjects;

export function conflictSubject(conflict: ExportConflict): string {
  return conflictSubjects[conflict];
}

/** Undefined without an export. */
export function mergeExports(exported: readonly ExportedService[]): MergedExports | undefined {
  const inOrder = exported.toSorted(byPrecedence);
  const [oldest] = inOrder;
  if (oldest === undefined) return undefined;
  const { service, serviceExport, cluster } = oldest;
  const type = typeOf(service);
  return {
    type,
    ports: unitedPorts(inOrder.flatMap((one) => one.service.ports)),
    sessionAffinity: service.sessionAffinity,
    affinityTimeoutSeconds: affinityTimeoutOf(service),
    internalTrafficPolicy: internalTrafficPolicyOf(service),
    trafficDistribution: service.traffic?.trafficDistribution,
    ipFamilies: [...new Set(inOrder.flatMap((one) => one.service.ipFamilies))],
    labels: serviceExport.exportedLabels,
    annotations: serviceExport.exportedAnnotations,
    clusters: inOrder.map((one) => one.cluster).sort(),
    precedence: cluster,
    conflicts: conflictsOf(inOrder, type),
  };
}

/** The oldest export first. Times have whole seconds, so that equal ones need an order too. */
export function byPrecedence(one: ExportedService, other: ExportedService): number {
  const [a, b] = [one, other].map(
    ({ serviceExport }) => serviceExport.metadata.creationTimestamp ?? Number.POSITIVE_INFINITY,
  ) as [number, number];
  if (a !== b) return a < b ? -1 : 1;
  return one.cluster < other.cluster ? -1 : 1;
}

/** The ports that a Service can have together, the first ones first. */
export function unitedPorts(all: readonly ServicePort[]): readonly ServicePort[] {
  const ports: ServicePort[] = [];
  for (const port of all) if (fitsBeside(port, ports)) ports.push(port);
  return ports;
}

/** The API server refuses a name or number twice, and among several a port without a name. */
function fitsBeside(port: ServicePort, others: readonly ServicePort[]): boolean {
  return others.every(
    (other) =>
      other.name !== "" &&
      port.name !== "" &&
      other.name !== port.name &&
      !(other.port === port.port && other.protocol === port.protocol),
  );
}

function conflictsOf(
  exported: readonly ExportedService[],
  type: MergedExports["type"],
): readonly ExportConflict[] {
  const differ = (value: (one: ExportedService) => unknown): boolean =>
    new Set(exported.map((one) => JSON.stringify(value(one) ?? null))).size > 1;
  const hasAddress = type === "ClusterSetIP";
  const found: Readonly<Record<ExportConflict, boolean>> = {
    PortConflict: differ(({ service }) => shownPorts(service)),
    TypeConflict: differ(({ service }) => typeOf(service)),
    // A headless service has no address, so that nothing of this applies to it.
    SessionAffinityConflict: hasAddress && differ(({ service }) => service.sessionAffinity),
    SessionAffinityConfigConflict:
      hasAddress && differ(({ service }) => affinityTimeoutOf(service)),
    InternalTrafficPolicyConflict:
      hasAddress && differ(({ service }) => internalTrafficPolicyOf(service)),
    TrafficDistributionConflict: differ(({ service }) => service.traffic?.trafficDistribution),
    IPFamilyConflict: differ(({ service }) => service.ipFamilies.toSorted()),
    LabelsConflict: differ(({ serviceExport }) => sorted(serviceExport.exportedLabels)),
    AnnotationsConflict: differ(({ serviceExport }) => sorted(serviceExport.exportedAnnotations)),
  };
  const reasons = Object.keys(found) as ExportConflict[];
  return reasons.filter((reason) => found[reason]);
}

/** A consumer sees no target port. */
function shownPorts({ ports }: Service): readonly string[] {
  return ports
    .map(({ name, port, protocol, appProtocol }) =>
      JSON.stringify([name, port, protocol, appProtocol]),
    )
    .sort();
}

function typeOf(service: Service): MergedExports["type"] {
  return isHeadless(service) ? "Headless" : "ClusterSetIP";
}

/** The API server's default, which it writes into every Service with such an affinity. */
const defaultAffinityTimeoutSeconds = 10_800;

function affinityTimeoutOf({ sessionAffinity, traffic }: Service): number | undefined {
  if (sessionAffinity !== "ClientIP") return undefined;
  return traffic?.affinityTimeoutSeconds ?? defaultAffinityTimeoutSeconds;
}

function internalTrafficPolicyOf({ traffic }: Service): string {
  return traffic?.internalTrafficPolicy ?? "Cluster";
}

function sorted(map: StringMap): unknown {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}
