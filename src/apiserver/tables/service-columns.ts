// What a Table shows of services, of the endpoints behind them, and of the ingresses in front.
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
  textsAt,
  valueAt,
} from "../kinds/fields.ts";
import {
  ageColumn,
  ageOf,
  type KindColumns,
  nameColumn,
  nameOf,
  none,
  textColumn,
  wideColumn,
} from "./columns.ts";
import { labelsText, listText, namedMax } from "./label-text.ts";

export const serviceColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Type", "How the service is made reachable."),
    textColumn("Cluster-IP", "Its address inside the cluster."),
    textColumn("External-IP", "Its addresses outside the cluster."),
    textColumn("Port(s)", "Its ports, with their node ports."),
    ageColumn,
    wideColumn("Selector", "The labels by which its pods are found."),
  ],
  cells: (service, now) => [
    nameOf(service),
    textAt(service, "spec", "type"),
    textsAt(service, "spec", "clusterIPs")[0] ?? none,
    externalAddress(service),
    objectsAt(service, "spec", "ports").map(portText).join(",") || none,
    ageOf(service, now),
    labelsText(textMapAt(service, "spec", "selector")),
  ],
};

export const endpointsColumns: KindColumns = {
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

export const endpointSliceColumns: KindColumns = {
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

export const ingressColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Class", "The ingress class it belongs to."),
    textColumn("Hosts", "The hosts its rules are for."),
    textColumn("Address", "Where it can be reached."),
    textColumn("Ports", "The ports it opens."),
    ageColumn,
  ],
  cells: (ingress, now) => [
    nameOf(ingress),
    textAt(ingress, "spec", "ingressClassName") || none,
    hostsText(ingress),
    balancerAddresses(ingress),
    objectsAt(ingress, "spec", "tls").length > 0 ? "80, 443" : "80",
    ageOf(ingress, now),
  ],
};

export const ingressClassColumns: KindColumns = {
  columns: [
    nameColumn,
    textColumn("Controller", "The controller that serves this class."),
    textColumn("Parameters", "The object with further settings."),
    ageColumn,
  ],
  cells: (ingressClass, now) => [
    nameOf(ingressClass) + (isDefault(ingressClass) ? " (default)" : ""),
    textAt(ingressClass, "spec", "controller"),
    parametersText(objectAt(ingressClass, "spec", "parameters")),
    ageOf(ingressClass, now),
  ],
};

function externalAddress(service: JsonObject): string {
  const external = textsAt(service, "spec", "externalIPs");
  switch (textAt(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return external.join(",") || none;
    case "LoadBalancer":
      return (
        [balancerAddresses(service), ...external].filter((text) => text !== "").join(",") ||
        "<pending>"
      );
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    default:
      return "<unknown>";
  }
}

/** The addresses in the status of a load balancer, each once, in order. */
function balancerAddresses(object: JsonObject): string {
  const addresses = objectsAt(object, "status", "loadBalancer", "ingress")
    .map((point) => textAt(point, "ip") || textAt(point, "hostname"))
    .filter((text) => text !== "");
  return [...new Set(addresses)].sort().join(",");
}

function portText(port: JsonObject): string {
  const node = numberAt(port, "nodePort") ?? 0;
  const number = numberAt(port, "port") ?? 0;
  return `${number}${node > 0 ? `:${node}` : ""}/${textAt(port, "protocol")}`;
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

/** The name stands for a number that is open; it may be empty, which is not the same as absent. */
function slicePortText(port: JsonObject): string {
  const number = numberAt(port, "port");
  if (number !== undefined) return String(number);
  return valueAt(port, "name") === undefined ? "*" : textAt(port, "name");
}

/** Counts the rules that are not named, those without a host included. */
function hostsText(ingress: JsonObject): string {
  const rules = objectsAt(ingress, "spec", "rules").map((rule) => textAt(rule, "host"));
  const named: string[] = [];
  let hasMore = false;
  for (const host of rules) {
    hasMore ||= named.length === namedMax;
    if (!hasMore && host !== "") named.push(host);
  }
  if (named.length === 0) return "*";
  return named.join(",") + (hasMore ? ` + ${rules.length - namedMax} more...` : "");
}

function isDefault(ingressClass: JsonObject): boolean {
  const annotations = textMapAt(ingressClass, "metadata", "annotations");
  return annotations["ingressclass.kubernetes.io/is-default-class"] === "true";
}

function parametersText(parameters: JsonObject | undefined): string {
  if (parameters === undefined) return none;
  const group = textAt(parameters, "apiGroup");
  const kind = textAt(parameters, "kind") + (group === "" ? "" : `.${group}`);
  return `${kind}/${textAt(parameters, "name")}`;
}
