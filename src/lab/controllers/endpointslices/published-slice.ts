// One EndpointSlice as the controller sees it: read from the stored object, or new and not yet
// created.
import {
  isRecord,
  listAt,
  optionalBoolean,
  optionalNumber,
  optionalString,
  type RawRecord,
  recordAt,
  stringsAt,
} from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import type { ObjectMeta } from "../../../kube/kinds/kind.ts";
import { isHeadless, type Service, serviceKind } from "../../../kube/kinds/service.ts";
import { ownedBy, typeOf, type WholeObject, wholeSlices } from "../whole-object.ts";
import type { AddressType, Endpoint, EndpointHints } from "./slice-groups.ts";
import type { SlicePort } from "./slice-ports.ts";

export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const sliceController = "endpointslice-controller.k8s.io";
const headlessLabel = "service.kubernetes.io/headless";

/** Labels the controller sets itself; a service's own of these names are passed over. */
const reservedLabels = new Set([serviceNameLabel, managedByLabel, headlessLabel]);

export interface PublishedSlice {
  readonly object: WholeObject;
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

/** A slice as it should be. */
export interface WantedSlice {
  /** The previous version, or the slice that it replaces and whose name it takes, if any. */
  readonly object: WholeObject | undefined;
  readonly isReplacement: boolean;
  /** Labels that are wrong: those of the service are written in their place. */
  readonly isRelabelled: boolean;
  readonly addressType: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

export function newSlice(
  addressType: AddressType,
  ports: readonly SlicePort[],
  endpoints: readonly Endpoint[],
): WantedSlice {
  const object = undefined;
  return { object, isReplacement: false, isRelabelled: false, addressType, ports, endpoints };
}

/** The slice with other endpoints; its labels stay unless they are wrong. */
export function revisedSlice(
  { object, addressType, ports }: PublishedSlice,
  endpoints: readonly Endpoint[],
  { isRelabelled = false }: { readonly isRelabelled?: boolean } = {},
): WantedSlice {
  return { object, isReplacement: false, isRelabelled, addressType, ports, endpoints };
}

export function readSlice(object: WholeObject): PublishedSlice {
  return {
    object,
    addressType: optionalString(object.raw, "addressType") ?? "",
    ports: listAt(object.raw, "ports").filter(isRecord).map(readPort),
    endpoints: listAt(object.raw, "endpoints").filter(isRecord).map(readEndpoint),
  };
}

export function isOwnedBy({ object }: PublishedSlice, { metadata }: Service): boolean {
  return object.owners.some(
    ({ uid, kind, apiVersion }) =>
      uid === metadata.uid && kind === "Service" && apiVersion === "v1",
  );
}

/**
 * An empty slice as a service without endpoints has it, whichever namesake of the service made it
 * (placeholderSliceCompare). A label without a value is the same as none.
 */
export function isPlaceholder(slice: PublishedSlice, service: Service): boolean {
  const [own, wanted] = [slice.object.metadata.labels, labelsFor(service)];
  const names = new Set([...Object.keys(own), ...Object.keys(wanted)]);
  return (
    slice.endpoints.length === 0 &&
    slice.ports.length === 0 &&
    [...names].every((name) => (own[name] ?? "") === (wanted[name] ?? ""))
  );
}

/** The body of a POST, or of a PUT that takes the name of a slice that is not needed any more. */
export function newSliceBody(
  service: Service,
  { object, addressType, ports, endpoints }: WantedSlice,
  annotations: StringMap,
): RawRecord {
  const { namespace, name } = service.metadata;
  return {
    ...typeOf(wholeSlices),
    metadata: {
      generateName: `${name}-`,
      ...(object === undefined ? {} : { name: object.metadata.name }),
      namespace,
      labels: labelsFor(service),
      annotations,
      ownerReferences: [ownedBy(serviceKind, service.metadata)],
    },
    addressType,
    ports,
    endpoints,
  };
}

export function labelsFor(service: Service): StringMap {
  return {
    ...unreserved(service.metadata.labels),
    ...(isHeadless(service) ? { [headlessLabel]: "" } : {}),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: sliceController,
  };
}

/** The labels that are compared. */
export function unreserved(labels: StringMap): StringMap {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !reservedLabels.has(name)));
}

/** `namespace/name` of the service in the label of a slice. */
export function serviceKeyOf({ namespace, labels }: ObjectMeta): string {
  return `${namespace}/${labels[serviceNameLabel] ?? ""}`;
}

function readPort(port: RawRecord): SlicePort {
  const appProtocol = optionalString(port, "appProtocol");
  return {
    name: optionalString(port, "name") ?? "",
    port: optionalNumber(port, "port") ?? 0,
    protocol: optionalString(port, "protocol") ?? "TCP",
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function readEndpoint(endpoint: RawRecord): Endpoint {
  const conditions = recordAt(endpoint, "conditions");
  const target = recordAt(endpoint, "targetRef");
  const hostname = optionalString(endpoint, "hostname");
  const nodeName = optionalString(endpoint, "nodeName");
  const zone = optionalString(endpoint, "zone");
  return {
    addresses: stringsAt(endpoint, "addresses"),
    conditions: readConditions(conditions),
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: {
      kind: optionalString(target, "kind") ?? "",
      namespace: optionalString(target, "namespace") ?? "",
      name: optionalString(target, "name") ?? "",
      uid: optionalString(target, "uid") ?? "",
    },
    ...(zone === undefined ? {} : { zone }),
    ...(isRecord(endpoint["hints"]) ? { hints: readHints(endpoint["hints"]) } : {}),
  };
}

function readHints(hints: RawRecord): EndpointHints {
  const names = (field: string) =>
    listAt(hints, field)
      .filter(isRecord)
      .map((entry) => ({ name: optionalString(entry, "name") ?? "" }));
  return {
    ...(hints["forZones"] === undefined ? {} : { forZones: names("forZones") }),
    ...(hints["forNodes"] === undefined ? {} : { forNodes: names("forNodes") }),
  };
}

/** Missing conditions stay missing: the controller corrects them. */
function readConditions(conditions: RawRecord): Endpoint["conditions"] {
  const ready = optionalBoolean(conditions, "ready");
  const serving = optionalBoolean(conditions, "serving");
  const terminating = optionalBoolean(conditions, "terminating");
  return {
    ...(ready === undefined ? {} : { ready }),
    ...(serving === undefined ? {} : { serving }),
    ...(terminating === undefined ? {} : { terminating }),
  };
}
