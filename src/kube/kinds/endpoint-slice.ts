// EndpointSlice: the published form since Kubernetes 1.21, several objects per service. Terminating
// endpoints stay listed, with conditions that say so.
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
import { internString, internStructure, type StringMap, shareItems } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";
import { isSameTarget, type TargetRef, targetRefOf } from "./target-ref.ts";

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  /** Undefined means ready: the API asks consumers to read it so. */
  readonly ready: boolean | undefined;
  /** Undefined before Kubernetes 1.22: then `ready` stands for it. */
  readonly serving: boolean | undefined;
  readonly terminating: boolean | undefined;
  readonly hostname: string | undefined;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  readonly targetRef: TargetRef | undefined;
  /** Zones whose clients should use it; absent without such a hint. */
  readonly hintedZones?: readonly string[];
}

export interface SlicePort {
  readonly name: string;
  /** Undefined means every port. */
  readonly port: number | undefined;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
}

export interface EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  readonly addressType: string;
  readonly endpoints: readonly SliceEndpoint[];
  readonly ports: readonly SlicePort[];
}

export const endpointSliceKind: Kind<EndpointSlice> = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  resource: "endpointslices",
  namespaced: true,
  project: projectEndpointSlice,
};

/** The service a slice belongs to; undefined for one that names none. */
export function serviceNameOf(slice: EndpointSlice): string | undefined {
  return slice.metadata.labels["kubernetes.io/service-name"];
}

/** The ServiceImport a slice belongs to (KEP-1645); undefined for one that names none. */
export function importNameOf(slice: EndpointSlice): string | undefined {
  return slice.metadata.labels["multicluster.kubernetes.io/service-name"];
}

/** The writer of the slice: `endpointslice-controller.k8s.io` for the ordinary controller. */
export function managedByOf(slice: EndpointSlice): string | undefined {
  return slice.metadata.labels["endpointslice.kubernetes.io/managed-by"];
}

function projectEndpointSlice(raw: unknown, similar?: EndpointSlice): EndpointSlice {
  const object = objectRecord(raw);
  return {
    metadata: projectMetadata(object, endpointSliceKind, similar?.metadata),
    annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
    ...sliceContent(object, similar),
  };
}

export type SliceContent = Pick<EndpointSlice, "addressType" | "endpoints" | "ports">;

/** The content of an object that may have been recorded without some of its metadata. */
export function sliceContent(object: RawRecord, similar?: SliceContent): SliceContent {
  return {
    addressType: internString(optionalString(object, "addressType") ?? "IPv4"),
    endpoints: shareItems(
      listAt(object, "endpoints").map(endpoint),
      similar?.endpoints,
      isSameEndpoint,
    ),
    ports: internStructure(listAt(object, "ports").map(port), similar?.ports),
  };
}

function isSameEndpoint(a: SliceEndpoint, b: SliceEndpoint): boolean {
  return (
    a.ready === b.ready &&
    a.serving === b.serving &&
    a.terminating === b.terminating &&
    a.hostname === b.hostname &&
    a.nodeName === b.nodeName &&
    a.zone === b.zone &&
    areSameStrings(a.addresses, b.addresses) &&
    areSameStrings(a.hintedZones ?? [], b.hintedZones ?? []) &&
    isSameTarget(a.targetRef, b.targetRef)
  );
}

function areSameStrings(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

function endpoint(entry: unknown): SliceEndpoint {
  const record = requiredRecord(entry, "an endpoint");
  const conditions = recordAt(record, "conditions");
  const nodeName = optionalString(record, "nodeName");
  const zone = optionalString(record, "zone");
  return {
    addresses: stringsAt(record, "addresses"),
    ready: optionalBoolean(conditions, "ready"),
    serving: optionalBoolean(conditions, "serving"),
    terminating: optionalBoolean(conditions, "terminating"),
    hostname: optionalString(record, "hostname"),
    nodeName: nodeName === undefined ? undefined : internString(nodeName),
    zone: zone === undefined ? undefined : internString(zone),
    targetRef: targetRefOf(record),
    ...hintsOf(record),
  };
}

function hintsOf(record: RawRecord): Pick<SliceEndpoint, "hintedZones"> {
  const zones = listAt(recordAt(record, "hints"), "forZones");
  if (zones.length === 0) return {};
  const names = zones.map((zone) => optionalString(requiredRecord(zone, "a zone"), "name") ?? "");
  return { hintedZones: names.map((name) => internString(name)) };
}

function port(entry: unknown): SlicePort {
  const record = requiredRecord(entry, "a port");
  return {
    name: optionalString(record, "name") ?? "",
    port: optionalInteger(record, "port"),
    protocol: optionalString(record, "protocol") ?? "TCP",
    appProtocol: optionalString(record, "appProtocol"),
  };
}
