// Endpoints: the older published form, one object per service with ready and not ready addresses.
import {
  listAt,
  optionalInteger,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
  requiredString,
  stringMapAt,
} from "./fields.ts";
import { internString, internStructure, type StringMap, shareItems } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";
import { isSameTarget, type TargetRef, targetRefOf } from "./target-ref.ts";

export interface EndpointAddress {
  readonly ip: string;
  readonly hostname: string | undefined;
  readonly nodeName: string | undefined;
  readonly targetRef: TargetRef | undefined;
}

export interface EndpointsPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
}

export interface EndpointsSubset {
  readonly addresses: readonly EndpointAddress[];
  readonly notReadyAddresses: readonly EndpointAddress[];
  readonly ports: readonly EndpointsPort[];
}

export interface Endpoints {
  readonly metadata: ObjectMeta;
  /** Among them the trigger time, the over-capacity mark and, on old locks, the leader's record. */
  readonly annotations: StringMap;
  readonly subsets: readonly EndpointsSubset[];
}

export const endpointsKind: Kind<Endpoints> = {
  group: "",
  version: "v1",
  kind: "Endpoints",
  resource: "endpoints",
  namespaced: true,
  project: projectEndpoints,
};

function projectEndpoints(raw: unknown, similar?: Endpoints): Endpoints {
  const object = objectRecord(raw);
  return {
    metadata: projectMetadata(object, endpointsKind, similar?.metadata),
    annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
    subsets: subsetsOf(object, similar?.subsets),
  };
}

/** The subsets of an object that may have been recorded without some of its metadata. */
export function subsetsOf(
  object: RawRecord,
  similar?: readonly EndpointsSubset[],
): readonly EndpointsSubset[] {
  return listAt(object, "subsets").map((entry, index) => subset(entry, similar?.[index]));
}

function subset(entry: unknown, similar: EndpointsSubset | undefined): EndpointsSubset {
  const record = requiredRecord(entry, "a subset");
  const notReady = listAt(record, "notReadyAddresses").map(address);
  return {
    addresses: shareItems(
      listAt(record, "addresses").map(address),
      similar?.addresses,
      isSameAddress,
    ),
    notReadyAddresses: shareItems(notReady, similar?.notReadyAddresses, isSameAddress),
    ports: internStructure(listAt(record, "ports").map(port), similar?.ports),
  };
}

function isSameAddress(a: EndpointAddress, b: EndpointAddress): boolean {
  return (
    a.ip === b.ip &&
    a.hostname === b.hostname &&
    a.nodeName === b.nodeName &&
    isSameTarget(a.targetRef, b.targetRef)
  );
}

function address(entry: unknown): EndpointAddress {
  const record: RawRecord = requiredRecord(entry, "an address");
  const nodeName = optionalString(record, "nodeName");
  return {
    ip: requiredString(record, "ip"),
    hostname: optionalString(record, "hostname"),
    nodeName: nodeName === undefined ? undefined : internString(nodeName),
    targetRef: targetRefOf(record),
  };
}

function port(entry: unknown): EndpointsPort {
  const record = requiredRecord(entry, "a port");
  return {
    name: optionalString(record, "name") ?? "",
    port: optionalInteger(record, "port") ?? 0,
    protocol: optionalString(record, "protocol") ?? "TCP",
    appProtocol: optionalString(record, "appProtocol"),
  };
}
