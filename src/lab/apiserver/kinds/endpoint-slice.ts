// EndpointSlices: a bounded part of a service's endpoints, of one address family. Loopback
// addresses, which the real server refuses, are allowed: the lab's pods live there.
import { sameJson } from "../../same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, objectsAt, setDefaults, textAt, textsAt, valueAt } from "./fields.ts";
import { isIpv4, isIpv6 } from "./ip-address.ts";
import { dnsLabel, dnsSubdomain } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import {
  bumpGeneration,
  bumpGenerationIfChanged,
  defineKind,
  startGeneration,
} from "./resource-kind.ts";

/** Bounds of one slice, as in Kubernetes. */
const maxEndpoints = 1000;
const maxPorts = 20_000;
const maxAddresses = 100;

const addressTypes = ["FQDN", "IPv4", "IPv6"];

export const endpointSliceKind = defineKind({
  group: "discovery.k8s.io",
  kind: "EndpointSlice",
  resource: "endpointslices",
  namespaced: true,
  schema: "discovery.v1.EndpointSlice",
  setDefaults(slice) {
    for (const port of objectsAt(slice, "ports")) {
      port["name"] ??= "";
      setDefaults(port, { protocol: "TCP" });
    }
  },
  prepareCreate: startGeneration,
  prepareUpdate(slice, current) {
    bumpGenerationIfChanged(slice, current, ["addressType", "endpoints", "ports"]);
    if (!sameJson(slice.metadata.labels, current.metadata.labels)) {
      bumpGeneration(slice, current);
    }
  },
  validate: validateSlice,
  validateUpdate(slice, current, errors) {
    validateImmutable("addressType", slice["addressType"], current["addressType"], errors);
  },
});

function validateSlice(slice: KubeObject, errors: FieldErrors): void {
  const type = textAt(slice, "addressType");
  errors.oneOf("addressType", type, addressTypes);
  const endpoints = objectsAt(slice, "endpoints");
  if (endpoints.length > maxEndpoints) {
    errors.tooMany("endpoints", endpoints.length, maxEndpoints);
  } else {
    for (const [index, endpoint] of endpoints.entries()) {
      validateEndpoint(endpoint, { path: `endpoints[${index}]`, type }, errors);
    }
  }
  const ports = objectsAt(slice, "ports");
  if (ports.length > maxPorts) {
    errors.tooMany("ports", ports.length, maxPorts);
  } else {
    validatePorts(ports, errors);
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
    if (type === "IPv4" && !isIpv4(address)) {
      errors.invalid(at, address, "must be a valid IPv4 address");
    } else if (type === "IPv6" && !isIpv6(address)) {
      errors.invalid(at, address, "must be a valid IPv6 address");
    } else if (type === "FQDN") {
      errors.invalidForEach(at, address, dnsSubdomain(address));
    }
  }
  const nodeName = textAt(endpoint, "nodeName");
  if (nodeName !== "") {
    errors.invalidForEach(`${path}.nodeName`, nodeName, dnsSubdomain(nodeName));
  }
  const hostname = textAt(endpoint, "hostname");
  if (hostname !== "") {
    errors.invalidForEach(`${path}.hostname`, hostname, dnsLabel(hostname));
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
    errors.oneOf(`ports[${index}].protocol`, textAt(port, "protocol"), ["SCTP", "TCP", "UDP"]);
    const number = valueAt(port, "port");
    if (typeof number === "number") {
      errors.portNumber(`ports[${index}].port`, number);
    }
  }
}
