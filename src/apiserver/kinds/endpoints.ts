// Endpoints: the old, one-object form of a service's addresses. Loopback addresses, which the real
// server refuses, are allowed: the lab's pods live there.
import { isIp } from "../../environment/ip-address.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  listText,
  nameColumn,
  nameOf,
  none,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, numberAt, objectsAt, setDefaults, textAt } from "./fields.ts";
import { invalidIpMessage, validateEndpointIp } from "./ip-rules.ts";
import { dnsLabel, dnsSubdomain, qualifiedName } from "./names.ts";
import { defineKind } from "./resource-kind.ts";

const endpointsColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Endpoints", "The ready addresses with their ports."),
    ageColumn,
  ],
  cells: (endpoints, now) => [
    nameOf(endpoints),
    objectsAt(endpoints, "subsets").length === 0 ? none : listText(readyAddresses(endpoints)),
    ageOf(endpoints, now),
  ],
};

export const endpointsKind = defineKind({
  kind: "Endpoints",
  resource: "endpoints",
  singular: "endpoints",
  shortNames: ["ep"],
  namespaced: true,
  schema: "core.v1.Endpoints",
  columns: endpointsColumns,
  prefix: "/registry/services/endpoints/",
  createOnUpdate: true,
  deprecation: {
    sinceMinor: 33,
    warning: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  },
  setDefaults(endpoints) {
    for (const subset of objectsAt(endpoints, "subsets")) {
      for (const port of objectsAt(subset, "ports")) {
        setDefaults(port, { protocol: "TCP" });
      }
    }
  },
  validate: validateEndpoints,
});

function validateEndpoints(endpoints: KubeObject, errors: FieldErrors): void {
  for (const [index, subset] of objectsAt(endpoints, "subsets").entries()) {
    const path = `subsets[${index}]`;
    const addresses = objectsAt(subset, "addresses");
    const notReady = objectsAt(subset, "notReadyAddresses");
    if (addresses.length === 0 && notReady.length === 0) {
      errors.required(path, "must specify `addresses` or `notReadyAddresses`");
    }
    validateAddresses(addresses, `${path}.addresses`, errors);
    validateAddresses(notReady, `${path}.notReadyAddresses`, errors);
    validatePorts(objectsAt(subset, "ports"), `${path}.ports`, errors);
  }
}

function validateAddresses(
  addresses: readonly JsonObject[],
  path: string,
  errors: FieldErrors,
): void {
  for (const [index, address] of addresses.entries()) {
    const at = `${path}[${index}]`;
    const ip = textAt(address, "ip");
    if (!isIp(ip)) {
      errors.invalid(`${at}.ip`, ip, invalidIpMessage);
    }
    const hostname = textAt(address, "hostname");
    if (hostname !== "") {
      errors.invalidForEach(`${at}.hostname`, hostname, dnsLabel(hostname));
    }
    const nodeName = address["nodeName"];
    if (typeof nodeName === "string") {
      errors.invalidForEach(`${at}.nodeName`, nodeName, dnsSubdomain(nodeName));
    }
    if (isIp(ip)) {
      validateEndpointIp(`${at}.ip`, ip, errors, { mayBeLoopback: true });
    } else {
      errors.invalid(`${at}.ip`, ip, "must be a valid IP address");
    }
  }
}

function validatePorts(ports: readonly JsonObject[], path: string, errors: FieldErrors): void {
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(port, "name");
    if (name === "" && ports.length > 1) {
      errors.required(`${at}.name`);
    } else if (name !== "") {
      errors.invalidForEach(`${at}.name`, name, dnsLabel(name));
    }
    errors.portNumber(`${at}.port`, numberAt(port, "port"));
    errors.oneOf(`${at}.protocol`, textAt(port, "protocol"), ["SCTP", "TCP", "UDP"]);
    const protocol = port["appProtocol"];
    if (typeof protocol === "string") {
      errors.invalidForEach(`${at}.appProtocol`, protocol, qualifiedName(protocol));
    }
  }
}

/** Those without a port are shown as they are. */
function readyAddresses(endpoints: JsonObject): readonly string[] {
  return objectsAt(endpoints, "subsets").flatMap((subset) => {
    const addresses = objectsAt(subset, "addresses").map((address) => textAt(address, "ip"));
    const ports = objectsAt(subset, "ports");
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) =>
      addresses.map((ip) => `${ip.includes(":") ? `[${ip}]` : ip}:${numberAt(port, "port") ?? 0}`),
    );
  });
}
