// EndpointSlices: a bounded part of a service's endpoints, of one address family. Loopback
// addresses, which the real server refuses, are allowed: the lab's pods live there.
import { isIp, isIpv4, isIpv6 } from "../../environment/ip-address.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  listText,
  nameColumn,
  nameOf,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  type JsonObject,
  listAt,
  numberAt,
  objectsAt,
  textAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { invalidIpMessage, validateEndpointIp } from "./ip-rules.ts";
import { dnsLabel, dnsSubdomain, domainName, labelValue, qualifiedName } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import {
  bumpGeneration,
  bumpGenerationIfChanged,
  defineKind,
  startGeneration,
} from "./resource-kind.ts";

const endpointSliceColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("AddressType", "What its addresses are: IPv4, IPv6 or names."),
    textColumn("Ports", "The ports of each of its endpoints."),
    textColumn("Endpoints", "The addresses of its endpoints, ready or not."),
    ageColumn,
  ],
  cells: (slice, now) => [
    nameOf(slice),
    textAt(slice, "addressType"),
    listText(objectsAt(slice, "ports").map(slicePortText)) || "<unset>",
    listText(objectsAt(slice, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses"))) ||
      "<unset>",
    ageOf(slice, now),
  ],
};

/** Bounds of one slice, as in Kubernetes. */
const maxEndpoints = 1000;
const maxPorts = 20_000;
const maxAddresses = 100;

/** Zones one endpoint may be hinted to. */
const maxZoneHints = 8;

const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["SCTP", "TCP", "UDP"];

export const endpointSliceKind = defineKind({
  group: "discovery.k8s.io",
  kind: "EndpointSlice",
  resource: "endpointslices",
  namespaced: true,
  schema: "discovery.v1.EndpointSlice",
  columns: endpointSliceColumns,
  setDefaults(slice) {
    for (const port of objectsAt(slice, "ports")) {
      port["name"] ??= "";
      port["protocol"] ??= "TCP";
    }
  },
  prepareCreate(slice) {
    startGeneration(slice);
    dropOldTopology(slice);
  },
  prepareUpdate(slice, current) {
    bumpGenerationIfChanged(slice, current, ["addressType", "endpoints", "ports"]);
    if (!sameJson(slice.metadata.labels, current.metadata.labels)) {
      bumpGeneration(slice, current);
    }
    dropOldTopology(slice);
  },
  validate: validateSlice,
  /** Empty lists are stored as none. */
  canonicalize(slice) {
    for (const field of ["endpoints", "ports"]) {
      if (listAt(slice, field).length === 0) slice[field] = null;
    }
  },
  validateUpdateLast(slice, current, errors) {
    validateImmutable("addressType", slice["addressType"], current["addressType"], errors);
  },
});

function validateSlice(slice: KubeObject, errors: FieldErrors): void {
  const type = textAt(slice, "addressType");
  errors.oneOf("addressType", type, addressTypes);
  const ports = objectsAt(slice, "ports");
  if (ports.length > maxPorts) {
    errors.tooMany("ports", ports.length, maxPorts);
  } else {
    validatePorts(ports, errors);
  }
  const endpoints = objectsAt(slice, "endpoints");
  if (endpoints.length > maxEndpoints) {
    errors.tooMany("endpoints", endpoints.length, maxEndpoints);
    return;
  }
  for (const [index, endpoint] of endpoints.entries()) {
    validateEndpoint(endpoint, { path: `endpoints[${index}]`, type }, errors);
  }
}

function validateEndpoint(
  endpoint: JsonObject,
  { path, type }: { readonly path: string; readonly type: string },
  errors: FieldErrors,
): void {
  const addresses = textsAt(endpoint, "addresses");
  if (addresses.length === 0) {
    errors.required(`${path}.addresses`, "must contain at least 1 address");
  } else if (addresses.length > maxAddresses) {
    errors.tooMany(`${path}.addresses`, addresses.length, maxAddresses);
  }
  for (const [index, address] of addresses.entries()) {
    const at = `${path}.addresses[${index}]`;
    if (type === "FQDN") {
      errors.invalidForEach(at, address, domainName(address));
    } else if (type === "IPv4" || type === "IPv6") {
      validateAddress(address, { at, path, isRightFamily: families[type] }, errors);
    }
  }
  for (const [field, rule] of [
    ["nodeName", dnsSubdomain],
    ["hostname", dnsLabel],
  ] as const) {
    const name = endpoint[field];
    if (typeof name === "string") {
      errors.invalidForEach(`${path}.${field}`, name, rule(name));
    }
  }
  validateHints(endpoint, `${path}.hints.forZones`, errors);
}

const families = { IPv4: isIpv4, IPv6: isIpv6 };

function validateAddress(
  address: string,
  place: {
    readonly at: string;
    readonly path: string;
    readonly isRightFamily: (address: string) => boolean;
  },
  errors: FieldErrors,
): void {
  if (!isIp(address)) {
    errors.invalid(place.at, address, invalidIpMessage);
    return;
  }
  if (!place.isRightFamily(address)) {
    const family = place.isRightFamily === isIpv4 ? "IPv4" : "IPv6";
    errors.invalid(`${place.path}.addresses`, address, `must be an ${family} address`);
  }
  validateEndpointIp(place.at, address, errors, { mayBeLoopback: true });
}

function validateHints(endpoint: JsonObject, path: string, errors: FieldErrors): void {
  const zones = objectsAt(endpoint, "hints", "forZones");
  if (zones.length > maxZoneHints) {
    errors.tooMany(path, zones.length, maxZoneHints);
    return;
  }
  const names = new Set<string>();
  for (const [index, zone] of zones.entries()) {
    const name = textAt(zone, "name");
    if (names.has(name)) {
      errors.duplicate(`${path}[${index}].name`, name);
    }
    names.add(name);
    errors.invalidForEach(`${path}[${index}].name`, name, labelValue(name));
  }
}

/** The version before this one had it; here it can be read but no longer written. */
function dropOldTopology(slice: KubeObject): void {
  for (const endpoint of objectsAt(slice, "endpoints")) {
    delete endpoint["deprecatedTopology"];
  }
}

function validatePorts(ports: readonly JsonObject[], errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const name = textAt(port, "name");
    if (name !== "") {
      errors.invalidForEach(`ports[${index}].name`, name, dnsLabel(name));
    }
    if (names.has(name)) {
      errors.duplicate(`ports[${index}].name`, name);
    }
    names.add(name);
    const protocol = textAt(port, "protocol");
    if (!protocols.includes(protocol)) {
      errors.notSupported(`ports[${index}].protocol`, protocol, protocols);
    }
    const appProtocol = port["appProtocol"];
    if (typeof appProtocol === "string") {
      errors.invalidForEach(`ports[${index}].appProtocol`, appProtocol, qualifiedName(appProtocol));
    }
  }
}

/** The name stands for a number that is open; it may be empty, which is not the same as absent. */
function slicePortText(port: JsonObject): string {
  const number = numberAt(port, "port");
  if (number !== undefined) return String(number);
  return valueAt(port, "name") === undefined ? "*" : textAt(port, "name");
}
