// Ingresses: HTTP routes by host and path to services.
import { isIp } from "../../environment/ip-address.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ageColumn,
  ageOf,
  balancerAddresses,
  type KindColumns,
  nameColumn,
  namedMax,
  nameOf,
  none,
  textColumn,
} from "../tables/columns.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
  textMapAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { validateTypedReference } from "./ingress-class.ts";
import { invalidIpMessage } from "./ip-rules.ts";
import { dnsLabel, dnsSubdomain, portName, wildcardSubdomain } from "./names.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  dropStatus,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

const ingressColumns: KindColumns = {
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

const classAnnotation = "kubernetes.io/ingress.class";
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];

export const ingressKind = defineKind({
  group: "networking.k8s.io",
  kind: "Ingress",
  resource: "ingresses",
  shortNames: ["ing"],
  namespaced: true,
  schema: "networking.v1.Ingress",
  columns: ingressColumns,
  subresources: ["status"],
  prefix: "/registry/ingress/",
  prepareCreate(ingress) {
    dropStatus(ingress);
    startGeneration(ingress);
  },
  prepareUpdate(ingress, current) {
    keepStatus(ingress, current);
    bumpGenerationIfChanged(ingress, current, ["spec"]);
  },
  validateNew: validateClassTwice,
  validate: validateIngress,
  validateStatus: validateIngressStatus,
});

function validateIngress(ingress: KubeObject, errors: FieldErrors): void {
  const spec = objectAt(ingress, "spec") ?? {};
  const rules = objectsAt(spec, "rules");
  const defaultBackend = objectAt(spec, "defaultBackend");
  if (rules.length === 0 && defaultBackend === undefined) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    errors.invalid("spec", spec["rules"] ?? null, detail);
  }
  if (defaultBackend !== undefined) {
    validateBackend(defaultBackend, "spec.defaultBackend", errors);
  }
  for (const [index, rule] of rules.entries()) {
    validateRule(rule, `spec.rules[${index}]`, errors);
  }
  for (const [index, tls] of objectsAt(spec, "tls").entries()) {
    validateTls(tls, `spec.tls[${index}]`, errors);
  }
  const className = spec["ingressClassName"];
  if (typeof className === "string") {
    errors.invalidForEach("spec.ingressClassName", className, dnsSubdomain(className));
  }
}

/** The class used to be an annotation; a new object may not have two different classes. */
function validateClassTwice(ingress: KubeObject, errors: FieldErrors): void {
  const annotation = textMapAt(ingress, "metadata", "annotations")[classAnnotation];
  const className = valueAt(ingress, "spec", "ingressClassName");
  if (annotation !== undefined && className !== undefined && annotation !== className) {
    const path = `annotations.${classAnnotation}`;
    errors.invalid(path, annotation, "must match `ingressClassName` when both are specified");
  }
}

function validateIngressStatus(
  ingress: KubeObject,
  _current: KubeObject,
  errors: FieldErrors,
): void {
  for (const [index, point] of objectsAt(ingress, "status", "loadBalancer", "ingress").entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    const ip = textAt(point, "ip");
    if (ip !== "" && !isIp(ip)) {
      errors.invalid(`${path}.ip`, ip, invalidIpMessage);
    }
    const hostname = textAt(point, "hostname");
    if (hostname !== "") {
      errors.invalidForEach(`${path}.hostname`, hostname, dnsSubdomain(hostname));
      if (isIp(hostname)) {
        errors.invalid(`${path}.hostname`, hostname, "must be a DNS name, not an IP address");
      }
    }
  }
}

function validateRule(rule: JsonObject, path: string, errors: FieldErrors): void {
  const host = textAt(rule, "host");
  if (host !== "") {
    if (isIp(host)) {
      errors.invalid(`${path}.host`, host, "must be a DNS name, not an IP address");
    }
    errors.invalidForEach(`${path}.host`, host, hostProblems(host));
  }
  const http = objectAt(rule, "http");
  if (http === undefined) {
    return;
  }
  const paths = objectsAt(http, "paths");
  if (paths.length === 0) {
    errors.required(`${path}.http.paths`);
  }
  for (const [index, entry] of paths.entries()) {
    validatePath(entry, `${path}.http.paths[${index}]`, errors);
  }
}

function hostProblems(host: string): readonly string[] {
  return host.includes("*") ? wildcardSubdomain(host) : dnsSubdomain(host);
}

function validateTls(tls: JsonObject, path: string, errors: FieldErrors): void {
  for (const [index, host] of textsAt(tls, "hosts").entries()) {
    errors.invalidForEach(`${path}.hosts[${index}]`, host, hostProblems(host));
  }
  const secretName = textAt(tls, "secretName");
  if (secretName !== "") {
    errors.invalidForEach(`${path}.secretName`, secretName, dnsSubdomain(secretName));
  }
}

function validatePath(entry: JsonObject, path: string, errors: FieldErrors): void {
  const type = valueAt(entry, "pathType");
  if (typeof type !== "string") {
    errors.required(`${path}.pathType`, "pathType must be specified");
    return;
  }
  const text = textAt(entry, "path");
  if (!pathTypes.includes(type)) {
    errors.notSupported(`${path}.pathType`, type, pathTypes);
  } else if (!text.startsWith("/") && (type !== "ImplementationSpecific" || text !== "")) {
    errors.invalid(`${path}.path`, text, "must be an absolute path");
  }
  if (type === "Exact" || type === "Prefix") {
    for (const sequence of ["//", "/./", "/../", "%2f", "%2F"]) {
      if (text.includes(sequence)) {
        errors.invalid(`${path}.path`, text, `must not contain '${sequence}'`);
      }
    }
    for (const suffix of ["/..", "/."]) {
      if (text.endsWith(suffix)) {
        errors.invalid(`${path}.path`, text, `cannot end with '${suffix}'`);
      }
    }
  }
  validateBackend(objectAt(entry, "backend") ?? {}, `${path}.backend`, errors);
}

function validateBackend(backend: JsonObject, path: string, errors: FieldErrors): void {
  const service = objectAt(backend, "service");
  const resource = objectAt(backend, "resource");
  if (service !== undefined && resource !== undefined) {
    errors.invalid(path, "", "cannot set both resource and service backends");
  } else if (resource !== undefined) {
    validateTypedReference(resource, `${path}.resource`, errors);
  } else if (service !== undefined) {
    validateServiceBackend(service, path, errors);
  } else {
    errors.invalid(path, "", "resource or service backend is required");
  }
}

function validateServiceBackend(service: JsonObject, path: string, errors: FieldErrors): void {
  const name = textAt(service, "name");
  if (name === "") {
    errors.required(`${path}.service.name`);
  } else {
    errors.invalidForEach(`${path}.service.name`, name, dnsLabel(name));
  }
  const named = textAt(service, "port", "name");
  const number = numberAt(service, "port", "number") ?? 0;
  if (named !== "" && number !== 0) {
    errors.invalid(path, "", "cannot set both port name & port number");
  } else if (named !== "") {
    errors.invalidForEach(`${path}.service.port.name`, named, portName(named));
  } else if (number !== 0) {
    errors.portNumber(`${path}.service.port.number`, number);
  } else {
    errors.required(path, "port name or number is required");
  }
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
