// Services: columns, defaults, the fields an update carries over, rules and warnings. Cluster IPs,
// node ports and IP families are in service-addresses.ts.

import { isIp } from "../../environment/ip-address.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  balancerAddresses,
  type KindColumns,
  labelsText,
  nameColumn,
  nameOf,
  none,
  textColumn,
  wideColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textMapAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { invalidCidrMessage, invalidIpMessage, isCidr, validateEndpointIp } from "./ip-rules.ts";
import { dnsLabel, dnsSubdomain, portName, qualifiedName } from "./names.ts";
import { validateLabels } from "./object-meta.ts";
import { defineKind, keepStatus } from "./resource-kind.ts";
import {
  headlessIp,
  needsHealthCheck,
  nodePortNumbers,
  serviceAllocation,
  usesNodePorts,
  validateAddressChange,
  validateAddresses,
} from "./service-addresses.ts";

const serviceColumns: KindColumns = {
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

/** Seconds a client sticks to a pod under ClientIP affinity, as in Kubernetes: three hours. */
const affinitySeconds = 10_800;

export const serviceKind = defineKind({
  kind: "Service",
  resource: "services",
  shortNames: ["svc"],
  categories: ["all"],
  namespaced: true,
  schema: "core.v1.Service",
  columns: serviceColumns,
  returnsDeleted: true,
  subresources: ["status"],
  prefix: "/registry/services/specs/",
  nameRule: dnsLabel,
  createOnUpdate: true,
  selectableFields: {
    "spec.clusterIP": (service) => textAt(service, "spec", "clusterIP"),
    "spec.type": (service) => textAt(service, "spec", "type"),
  },
  setDefaults: setServiceDefaults,
  prepareCreate(service) {
    service["status"] = { loadBalancer: {} };
  },
  prepareUpdate(service, current) {
    keepStatus(service, current);
    dropWhatTheTypeLacks(ensureObject(service, "spec"), objectAt(current, "spec") ?? {});
    if (textAt(service, "spec", "type") !== "LoadBalancer") {
      service["status"] = { ...objectAt(current, "status"), loadBalancer: {} };
    }
  },
  /** A service elsewhere has no traffic inside. */
  canonicalize(service) {
    if (textAt(service, "spec", "type") === "ExternalName") {
      delete ensureObject(service, "spec")["internalTrafficPolicy"];
    }
  },
  allocation: serviceAllocation,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  warnings: serviceWarnings,
});

function setServiceDefaults(service: KubeObject): void {
  const spec = ensureObject(service, "spec");
  setDefaults(spec, { sessionAffinity: "None", type: "ClusterIP" });
  if (spec["sessionAffinity"] === "None") {
    delete spec["sessionAffinityConfig"];
  } else if (
    spec["sessionAffinity"] === "ClientIP" &&
    valueAt(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds") === undefined
  ) {
    spec["sessionAffinityConfig"] = { clientIP: { timeoutSeconds: affinitySeconds } };
  }
  for (const port of objectsAt(spec, "ports")) {
    setDefaults(port, { protocol: "TCP" });
    const target = port["targetPort"];
    if (target === undefined || target === null || target === 0 || target === "") {
      port["targetPort"] = port["port"] ?? 0;
    }
  }
  if (isExternallyReachable(spec)) {
    setDefaults(spec, { externalTrafficPolicy: "Cluster" });
  }
  const type = textAt(spec, "type");
  const isServed = type === "ClusterIP" || usesNodePorts(spec);
  if (isServed && valueAt(spec, "internalTrafficPolicy") === undefined) {
    spec["internalTrafficPolicy"] = "Cluster";
  }
  if (type === "LoadBalancer") {
    setDefaults(spec, { allocateLoadBalancerNodePorts: true });
    for (const ingress of objectsAt(service, "status", "loadBalancer", "ingress")) {
      if (textAt(ingress, "ip") !== "") {
        setDefaults(ingress, { ipMode: "VIP" });
      }
    }
  }
}

/** A change of type removes the fields of the old type, unless the client changes them as well. */
function dropWhatTheTypeLacks(spec: JsonObject, old: JsonObject): void {
  const drop = (field: string): void => {
    if (sameJson(spec[field], old[field])) {
      delete spec[field];
    }
  };
  if (old["type"] !== "ExternalName" && spec["type"] === "ExternalName") {
    if (sameJson(spec["clusterIPs"], old["clusterIPs"]) && spec["clusterIP"] === old["clusterIP"]) {
      delete spec["clusterIP"];
      delete spec["clusterIPs"];
    }
    drop("ipFamilies");
    drop("ipFamilyPolicy");
  }
  const held = nodePortNumbers(old);
  const addsNone = nodePortNumbers(spec).every((port) => held.includes(port));
  if (usesNodePorts(old) && !usesNodePorts(spec) && addsNone) {
    for (const port of objectsAt(spec, "ports")) {
      delete port["nodePort"];
    }
  }
  if (needsHealthCheck(old) && !needsHealthCheck(spec)) {
    drop("healthCheckNodePort");
  }
  if (old["type"] === "LoadBalancer" && spec["type"] !== "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (isExternallyReachable(old) && !isExternallyReachable(spec)) {
    drop("externalTrafficPolicy");
  }
}

function serviceWarnings(service: KubeObject): readonly string[] {
  const spec = objectAt(service, "spec") ?? {};
  const type = textAt(spec, "type");
  const isHeadless = type === "ClusterIP" && spec["clusterIP"] === headlessIp;
  const hasExternalIps = textsAt(spec, "externalIPs").length > 0;
  const warnings: string[] = [];
  if (isHeadless && textAt(spec, "loadBalancerIP") !== "") {
    warnings.push("spec.loadBalancerIP is ignored for headless services");
  }
  if (isHeadless && hasExternalIps) {
    warnings.push("spec.externalIPs is ignored for headless services");
  }
  if (isHeadless && spec["sessionAffinity"] !== "None") {
    warnings.push("spec.SessionAffinity is ignored for headless services");
  }
  if (hasExternalIps && !isHeadless && type !== "ExternalName") {
    warnings.push(
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    );
  }
  if (type === "ExternalName" && hasExternalIps) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (type !== "ExternalName" && textAt(spec, "externalName") !== "") {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec["trafficDistribution"] === "PreferClose") {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}

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

function portText(port: JsonObject): string {
  const node = numberAt(port, "nodePort") ?? 0;
  const number = numberAt(port, "port") ?? 0;
  return `${number}${node > 0 ? `:${node}` : ""}/${textAt(port, "protocol")}`;
}

/** By node port, load balancer or external address. */
function isExternallyReachable(spec: JsonObject): boolean {
  return (
    usesNodePorts(spec) ||
    (textAt(spec, "type") === "ClusterIP" && textsAt(spec, "externalIPs").length > 0)
  );
}

// Rules, in the order in which a real server lists problems. They see the service with its
// allocated addresses and ports.

const serviceTypes = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

const trafficPolicies = ["Cluster", "Local"];

const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/** Seconds a client may stick to a pod: a day. */
const affinityMaxSeconds = 86_400;

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'";

function validateService(service: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(service, "spec") ?? {};
  const type = textAt(spec, "type");
  validateType(spec, errors);
  validatePorts(spec, errors);
  validateLabels("spec.selector", textMapAt(spec, "selector"), errors);
  validateAffinity(spec, errors);
  validateAddresses(service, errors);
  for (const [index, address] of textsAt(spec, "externalIPs").entries()) {
    const path = `spec.externalIPs[${index}]`;
    if (isIp(address)) {
      validateEndpointIp(path, address, errors);
    } else {
      errors.invalid(path, address, invalidIpMessage);
    }
  }
  errors.oneOf("spec.type", type, serviceTypes);
  validateNumbers(spec, errors);
  validateLoadBalancer(spec, errors);
  validateTraffic(spec, errors);
}

function validateServiceUpdate(
  service: KubeObject,
  current: KubeObject,
  errors: FieldErrors,
): void {
  validateAddressChange(service, current, errors);
  const areBothLoadBalancers = [service, current].every(
    (one) => textAt(one, "spec", "type") === "LoadBalancer",
  );
  const wanted = valueAt(service, "spec", "loadBalancerClass");
  if (areBothLoadBalancers && wanted !== valueAt(current, "spec", "loadBalancerClass")) {
    errors.invalid("spec.loadBalancerClass", wanted ?? null, "may not change once set");
  }
  const specs = [service, current].map((one) => objectAt(one, "spec") ?? {});
  const ports = specs.map((spec) => spec["healthCheckNodePort"]);
  if (specs.every(needsHealthCheck) && ports[0] !== ports[1]) {
    errors.forbidden("spec.healthCheckNodePort", "field is immutable");
  }
}

function validateType(spec: JsonObject, errors: FieldErrors): void {
  const type = textAt(spec, "type");
  const isNone = textAt(spec, "clusterIP") === headlessIp;
  const hasPorts = objectsAt(spec, "ports").length > 0;
  if (!hasPorts && !isNone && type !== "ExternalName") {
    errors.required("spec.ports");
  }
  if (isNone && usesNodePorts(spec)) {
    const detail = `may not be set to 'None' for ${type} services`;
    errors.invalid("spec.clusterIPs[0]", headlessIp, detail);
  }
  if (type !== "ExternalName") {
    return;
  }
  for (const field of ["clusterIPs", "ipFamilies"]) {
    if (textsAt(spec, field).length > 0) {
      errors.forbidden(`spec.${field}`, "may not be set for ExternalName services");
    }
  }
  if (valueAt(spec, "ipFamilyPolicy") !== undefined) {
    errors.forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services");
  }
  const target = textAt(spec, "externalName").replace(/\.$/, "");
  if (target === "") {
    errors.required("spec.externalName");
  } else {
    errors.invalidForEach("spec.externalName", target, dnsSubdomain(target));
  }
}

function validatePorts(spec: JsonObject, errors: FieldErrors): void {
  const ports = objectsAt(spec, "ports");
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const name = textAt(port, "name");
    if (name === "" && ports.length > 1) {
      errors.required(`${path}.name`);
    } else if (name !== "") {
      errors.invalidForEach(`${path}.name`, name, dnsLabel(name));
      if (names.has(name)) {
        errors.duplicate(`${path}.name`, name);
      }
      names.add(name);
    }
    errors.portNumber(`${path}.port`, numberAt(port, "port"));
    errors.oneOf(`${path}.protocol`, textAt(port, "protocol"), ["SCTP", "TCP", "UDP"]);
    errors.portNumberOrName(`${path}.targetPort`, port["targetPort"], portName);
    const protocol = port["appProtocol"];
    if (typeof protocol === "string") {
      errors.invalidForEach(`${path}.appProtocol`, protocol, qualifiedName(protocol));
    }
  }
}

function validateAffinity(spec: JsonObject, errors: FieldErrors): void {
  const affinity = textAt(spec, "sessionAffinity");
  errors.oneOf("spec.sessionAffinity", affinity, ["ClientIP", "None"]);
  if (affinity !== "ClientIP") {
    return;
  }
  const path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  const seconds = numberAt(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds") ?? 0;
  if (seconds <= 0 || seconds > affinityMaxSeconds) {
    const detail = `must be greater than 0 and less than ${affinityMaxSeconds}`;
    errors.invalid(path, seconds, detail);
  }
}

/** Ports by number: which may be set, and none twice. */
function validateNumbers(spec: JsonObject, errors: FieldErrors): void {
  const ports = objectsAt(spec, "ports");
  const onNodes = new Set<string>();
  for (const [index, port] of ports.entries()) {
    if (textAt(spec, "type") === "ClusterIP" && numberAt(port, "nodePort")) {
      const path = `spec.ports[${index}].nodePort`;
      errors.forbidden(path, "may not be used when `type` is 'ClusterIP'");
    }
  }
  for (const [index, port] of ports.entries()) {
    const number = numberAt(port, "nodePort") ?? 0;
    const key = `${textAt(port, "protocol")}/${number}`;
    if (number !== 0 && onNodes.has(key)) {
      errors.duplicate(`spec.ports[${index}].nodePort`, number);
    }
    onNodes.add(key);
  }
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const Protocol = textAt(port, "protocol");
    const Port = numberAt(port, "port") ?? 0;
    if (seen.has(`${Protocol}/${Port}`)) {
      // The server shows its internal form of the port, of which it compares these two fields.
      const shown = { Name: "", Protocol, AppProtocol: null, Port, TargetPort: 0, NodePort: 0 };
      errors.duplicate(`spec.ports[${index}]`, shown);
    }
    seen.add(`${Protocol}/${Port}`);
  }
}

function validateLoadBalancer(spec: JsonObject, errors: FieldErrors): void {
  const isLoadBalancer = textAt(spec, "type") === "LoadBalancer";
  const ranges = textsAt(spec, "loadBalancerSourceRanges");
  if (ranges.length > 0 && !isLoadBalancer) {
    errors.forbidden("spec.LoadBalancerSourceRanges", onlyForLoadBalancers);
  }
  for (const [index, range] of ranges.entries()) {
    if (!isCidr(range.trim())) {
      const path = `spec.LoadBalancerSourceRanges[${index}]`;
      errors.invalid(path, range.trim(), invalidCidrMessage);
    }
  }
  if (valueAt(spec, "allocateLoadBalancerNodePorts") !== undefined && !isLoadBalancer) {
    errors.forbidden("spec.allocateLoadBalancerNodePorts", onlyForLoadBalancers);
  }
  const className = valueAt(spec, "loadBalancerClass");
  if (className !== undefined && !isLoadBalancer) {
    errors.forbidden("spec.loadBalancerClass", onlyForLoadBalancers);
  } else if (typeof className === "string") {
    errors.invalidForEach("spec.loadBalancerClass", className, qualifiedName(className));
  }
}

function validateTraffic(spec: JsonObject, errors: FieldErrors): void {
  const external = textAt(spec, "externalTrafficPolicy");
  if (isExternallyReachable(spec)) {
    errors.oneOf("spec.externalTrafficPolicy", external, trafficPolicies);
  } else if (external !== "") {
    const detail = "may only be set for externally-accessible services";
    errors.invalid("spec.externalTrafficPolicy", external, detail);
  }
  const healthPort = numberAt(spec, "healthCheckNodePort") ?? 0;
  if (needsHealthCheck(spec)) {
    errors.portNumber("spec.healthCheckNodePort", healthPort);
  } else if (healthPort !== 0) {
    const detail =
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.invalid("spec.healthCheckNodePort", healthPort, detail);
  }
  const internal = spec["internalTrafficPolicy"];
  if (typeof internal === "string" && !trafficPolicies.includes(internal)) {
    errors.notSupported("spec.internalTrafficPolicy", internal, trafficPolicies);
  }
  const distribution = spec["trafficDistribution"];
  if (typeof distribution === "string" && !distributions.includes(distribution)) {
    errors.notSupported("spec.trafficDistribution", distribution, distributions);
  }
}
