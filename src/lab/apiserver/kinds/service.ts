// Services. The cluster IP and node ports come from the server's allocator (verbs/allocations.ts);
// here are the defaults, the rules, and what may not change.
import type { KubeObject } from "../kube-object.ts";
import type { FieldErrors } from "./field-errors.ts";
import {
  ensureObject,
  type JsonObject,
  numberAt,
  objectsAt,
  setDefaults,
  textAt,
  textMapAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { invalidIpMessage, isIp, isIpv6 } from "./ip-address.ts";
import { dns1035Label, dnsLabel, dnsSubdomain } from "./names.ts";
import { validateImmutable, validateLabels } from "./object-meta.ts";
import { defineKind, keepStatus } from "./resource-kind.ts";

export const headlessIp = "None";

/** Seconds a client sticks to a pod under ClientIP affinity, as in Kubernetes: three hours. */
const affinitySeconds = 10_800;

export const serviceKind = defineKind({
  kind: "Service",
  resource: "services",
  shortNames: ["svc"],
  categories: ["all"],
  namespaced: true,
  schema: "core.v1.Service",
  returnsDeleted: true,
  subresources: ["status"],
  prefix: "/registry/services/specs/",
  nameRule: dns1035Label,
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
    keepAllocations(service, current);
  },
  validate: validateService,
  validateUpdate(service, current, errors) {
    const hadNoAddress = textAt(current, "spec", "type") === "ExternalName";
    if (!hadNoAddress && textAt(service, "spec", "type") !== "ExternalName") {
      const path = "spec.clusterIPs[0]";
      const address = textAt(service, "spec", "clusterIP");
      if (address !== textAt(current, "spec", "clusterIP")) {
        errors.invalid(path, textsAt(service, "spec", "clusterIPs"), "may not change once set");
      }
    }
    const classPath = "spec.loadBalancerClass";
    if (textAt(current, "spec", "type") === "LoadBalancer") {
      const after = valueAt(service, "spec", "loadBalancerClass");
      validateImmutable(classPath, after, valueAt(current, "spec", "loadBalancerClass"), errors);
    }
  },
});

/** True when the service lacks an address that the server must give it. */
export function needsClusterIp(service: KubeObject): boolean {
  return (
    textAt(service, "spec", "type") !== "ExternalName" &&
    textAt(service, "spec", "clusterIP") === ""
  );
}

export function setClusterIp(service: KubeObject, address: string): void {
  const spec = ensureObject(service, "spec");
  spec["clusterIP"] = address;
  setAddressFields(spec, address);
}

function setServiceDefaults(service: KubeObject): void {
  const spec = ensureObject(service, "spec");
  setDefaults(spec, { sessionAffinity: "None", type: "ClusterIP" });
  if (spec["sessionAffinity"] === "ClientIP") {
    setDefaults(spec, { sessionAffinityConfig: { clientIP: { timeoutSeconds: affinitySeconds } } });
  } else {
    delete spec["sessionAffinityConfig"];
  }
  for (const port of objectsAt(spec, "ports")) {
    setDefaults(port, { protocol: "TCP" });
    if (port["targetPort"] === undefined || port["targetPort"] === 0 || port["targetPort"] === "") {
      port["targetPort"] = port["port"];
    }
  }
  const type = textAt(spec, "type");
  if (type === "NodePort" || type === "LoadBalancer") {
    setDefaults(spec, { externalTrafficPolicy: "Cluster" });
  }
  if (type === "LoadBalancer") {
    setDefaults(spec, { allocateLoadBalancerNodePorts: true });
  }
  if (type !== "ExternalName") {
    setDefaults(spec, { internalTrafficPolicy: "Cluster" });
    const address = textAt(spec, "clusterIP") || (textsAt(spec, "clusterIPs")[0] ?? "");
    if (address !== "") {
      setAddressFields(spec, address);
    }
  }
}

function setAddressFields(spec: JsonObject, address: string): void {
  setDefaults(spec, {
    clusterIP: address,
    clusterIPs: [address],
    ipFamilies: [isIpv6(address) ? "IPv6" : "IPv4"],
    ipFamilyPolicy: "SingleStack",
  });
}

/** An update that leaves the address or a node port out keeps the old one. */
function keepAllocations(service: KubeObject, current: KubeObject): void {
  const spec = ensureObject(service, "spec");
  const address = textAt(current, "spec", "clusterIP");
  if (textAt(spec, "type") === "ExternalName") {
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) {
      delete spec[field];
    }
    return;
  }
  if (address !== "" && textAt(spec, "clusterIP") === "") {
    setAddressFields(spec, address);
  }
  const old = objectsAt(current, "spec", "ports");
  for (const port of objectsAt(spec, "ports")) {
    const same = old.find(
      (other) => other["port"] === port["port"] && other["protocol"] === port["protocol"],
    );
    const wantsNodePort = textAt(spec, "type") !== "ClusterIP";
    if (wantsNodePort && same?.["nodePort"] !== undefined && port["nodePort"] === undefined) {
      port["nodePort"] = same["nodePort"];
    }
  }
}

function validateService(service: KubeObject, errors: FieldErrors): void {
  const type = textAt(service, "spec", "type");
  const address = textAt(service, "spec", "clusterIP");
  const ports = objectsAt(service, "spec", "ports");
  errors.oneOf("spec.type", type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
  errors.oneOf("spec.sessionAffinity", textAt(service, "spec", "sessionAffinity"), [
    "ClientIP",
    "None",
  ]);
  if (type === "ExternalName") {
    const target = textAt(service, "spec", "externalName");
    if (target === "") {
      errors.required("spec.externalName");
    } else {
      errors.invalidForEach("spec.externalName", target, dnsSubdomain(target.replace(/\.$/, "")));
    }
  } else if (ports.length === 0 && address !== headlessIp) {
    errors.required("spec.ports");
  }
  if (address !== "" && address !== headlessIp && !isIp(address)) {
    errors.invalid("spec.clusterIPs[0]", address, invalidIpMessage);
  }
  if (address === headlessIp && (type === "NodePort" || type === "LoadBalancer")) {
    errors.invalid("spec.clusterIPs[0]", address, `may not be set to 'None' for ${type} services`);
  }
  validateLabels("spec.selector", textMapAt(service, "spec", "selector"), errors);
  validatePorts(ports, errors);
}

function validatePorts(ports: readonly JsonObject[], errors: FieldErrors): void {
  const names = new Set<string>();
  const numbers = new Set<string>();
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
    const targetPort = port["targetPort"];
    if (typeof targetPort === "number") {
      errors.portNumber(`${path}.targetPort`, targetPort);
    }
    const key = `${textAt(port, "protocol")}/${numberAt(port, "port")}`;
    if (numbers.has(key)) {
      errors.duplicate(path, { port: port["port"], protocol: port["protocol"] });
    }
    numbers.add(key);
  }
}
