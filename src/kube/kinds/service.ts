// A service: its selector, its ports, and the settings that change which pods count.
import {
  listAt,
  optionalBoolean,
  optionalInteger,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
  stringMapAt,
  stringsAt,
} from "./fields.ts";
import type { StringMap } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface ServicePort {
  /** Empty when the service has one port without a name. */
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** A number, or the name of a container port; the port itself when the service names none. */
  readonly targetPort: number | string;
  readonly appProtocol: string | undefined;
}

export interface Service {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  readonly type: string;
  /** `None` or empty for a headless service. */
  readonly clusterIP: string;
  readonly clusterIPs: readonly string[];
  readonly ipFamilies: readonly string[];
  readonly externalName: string | undefined;
  /** Undefined for a service without a selector, whose endpoints another controller writes. */
  readonly selector: StringMap | undefined;
  readonly ports: readonly ServicePort[];
  readonly publishNotReadyAddresses: boolean;
  readonly sessionAffinity: string;
  /** Absent when every one of them has its default. */
  readonly traffic?: ServiceTraffic;
}

/** Settings of how traffic is spread; each is absent when it has its default. */
export interface ServiceTraffic {
  readonly affinityTimeoutSeconds?: number;
  readonly ipFamilyPolicy?: string;
  readonly internalTrafficPolicy?: string;
  readonly trafficDistribution?: string;
}

export const serviceKind: Kind<Service> = {
  group: "",
  version: "v1",
  kind: "Service",
  resource: "services",
  namespaced: true,
  project: projectService,
};

export function isHeadless(service: Service): boolean {
  return service.clusterIP === "None" || service.clusterIP === "";
}

function projectService(raw: unknown, similar?: Service): Service {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  return {
    metadata: projectMetadata(object, serviceKind, similar?.metadata),
    annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
    type: optionalString(spec, "type") ?? "ClusterIP",
    clusterIP: optionalString(spec, "clusterIP") ?? "",
    clusterIPs: stringsAt(spec, "clusterIPs"),
    ipFamilies: stringsAt(spec, "ipFamilies"),
    externalName: optionalString(spec, "externalName"),
    selector: selectorOf(spec),
    ports: listAt(spec, "ports").map(servicePort),
    publishNotReadyAddresses: optionalBoolean(spec, "publishNotReadyAddresses") ?? false,
    sessionAffinity: optionalString(spec, "sessionAffinity") ?? "None",
    ...trafficOf(spec),
  };
}

function trafficOf(spec: RawRecord): Pick<Service, "traffic"> {
  const clientIP = recordAt(recordAt(spec, "sessionAffinityConfig"), "clientIP");
  const affinityTimeoutSeconds = optionalInteger(clientIP, "timeoutSeconds");
  const ipFamilyPolicy = optionalString(spec, "ipFamilyPolicy");
  const internalTrafficPolicy = optionalString(spec, "internalTrafficPolicy");
  const trafficDistribution = optionalString(spec, "trafficDistribution");
  const traffic: ServiceTraffic = {
    ...(affinityTimeoutSeconds !== undefined && { affinityTimeoutSeconds }),
    ...(ipFamilyPolicy !== undefined && ipFamilyPolicy !== "SingleStack" && { ipFamilyPolicy }),
    ...(internalTrafficPolicy !== undefined &&
      internalTrafficPolicy !== "Cluster" && { internalTrafficPolicy }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
  };
  return Object.keys(traffic).length === 0 ? {} : { traffic };
}

/** The endpoint controllers take an empty selector for one that matches every pod; absent for none. */
function selectorOf(spec: RawRecord): StringMap | undefined {
  const selector = spec["selector"];
  return selector === undefined || selector === null ? undefined : stringMapAt(spec, "selector");
}

function servicePort(entry: unknown): ServicePort {
  const record = requiredRecord(entry, "a port");
  const port = optionalInteger(record, "port") ?? 0;
  const named = record["targetPort"];
  const target = typeof named === "string" ? named : optionalInteger(record, "targetPort");
  return {
    name: optionalString(record, "name") ?? "",
    port,
    protocol: optionalString(record, "protocol") ?? "TCP",
    // Neither an empty name nor 0 names one.
    targetPort: target || port,
    appProtocol: optionalString(record, "appProtocol"),
  };
}
