// Ingress and IngressClass.
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import { type JsonObject, numberAt, objectAt, objectsAt, setDefaults, textAt } from "./fields.ts";
import { isIp } from "./ip-address.ts";
import { dns1035Label, dnsLabel, dnsSubdomain, wildcardSubdomain } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import {
  bumpGenerationIfChanged,
  defineKind,
  dropStatus,
  keepStatus,
  startGeneration,
} from "./resource-kind.ts";

export const ingressKind = defineKind({
  group: "networking.k8s.io",
  kind: "Ingress",
  resource: "ingresses",
  shortNames: ["ing"],
  namespaced: true,
  schema: "networking.v1.Ingress",
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
  validate: validateIngress,
});

export const ingressClassKind = defineKind({
  group: "networking.k8s.io",
  kind: "IngressClass",
  resource: "ingressclasses",
  namespaced: false,
  schema: "networking.v1.IngressClass",
  setDefaults(ingressClass) {
    const parameters = objectAt(ingressClass, "spec", "parameters");
    if (parameters !== undefined) {
      setDefaults(parameters, { scope: "Cluster" });
    }
  },
  prepareCreate: startGeneration,
  prepareUpdate(ingressClass, current) {
    bumpGenerationIfChanged(ingressClass, current, ["spec"]);
  },
  validateUpdate(ingressClass, current, errors) {
    const after = textAt(ingressClass, "spec", "controller");
    validateImmutable("spec.controller", after, textAt(current, "spec", "controller"), errors);
  },
});

function validateIngress(ingress: KubeObject, errors: FieldErrors): void {
  const rules = objectsAt(ingress, "spec", "rules");
  const defaultBackend = objectAt(ingress, "spec", "defaultBackend");
  if (rules.length === 0 && defaultBackend === undefined) {
    errors.invalid("spec", [], "either `defaultBackend` or `rules` must be specified");
  }
  if (defaultBackend !== undefined) {
    validateBackend(defaultBackend, "spec.defaultBackend", errors);
  }
  const className = textAt(ingress, "spec", "ingressClassName");
  if (className !== "") {
    errors.invalidForEach("spec.ingressClassName", className, dnsSubdomain(className));
  }
  for (const [index, rule] of rules.entries()) {
    validateRule(rule, `spec.rules[${index}]`, errors);
  }
}

function validateRule(rule: JsonObject, path: string, errors: FieldErrors): void {
  const host = textAt(rule, "host");
  if (isIp(host)) {
    errors.invalid(`${path}.host`, host, "must be a DNS name, not an IP address");
  } else if (host !== "") {
    const messages = host.includes("*") ? wildcardSubdomain(host) : dnsSubdomain(host);
    errors.invalidForEach(`${path}.host`, host, messages);
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

function validatePath(entry: JsonObject, path: string, errors: FieldErrors): void {
  const type = textAt(entry, "pathType");
  const text = textAt(entry, "path");
  if (type === "") {
    errors.required(`${path}.pathType`, "pathType must be specified");
  } else {
    errors.oneOf(`${path}.pathType`, type, ["Exact", "ImplementationSpecific", "Prefix"]);
  }
  const mustBeAbsolute = type === "Exact" || type === "Prefix" || text !== "";
  if (mustBeAbsolute && !text.startsWith("/")) {
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
  } else if (service === undefined && resource === undefined) {
    errors.required(path, "resource or service backend is required");
  } else if (service !== undefined) {
    validateServiceBackend(service, `${path}.service`, errors);
  }
}

function validateServiceBackend(service: JsonObject, path: string, errors: FieldErrors): void {
  const name = textAt(service, "name");
  if (name === "") {
    errors.required(`${path}.name`);
  } else {
    errors.invalidForEach(`${path}.name`, name, dns1035Label(name));
  }
  const portName = textAt(service, "port", "name");
  const portNumber = numberAt(service, "port", "number") ?? 0;
  if (portName !== "" && portNumber !== 0) {
    errors.invalid(path, "", "cannot set both port name & port number");
  } else if (portName !== "") {
    errors.invalidForEach(`${path}.port.name`, portName, dnsLabel(portName));
  } else if (portNumber !== 0) {
    errors.portNumber(`${path}.port.number`, portNumber);
  } else {
    errors.required(path, "port name or number is required");
  }
}
