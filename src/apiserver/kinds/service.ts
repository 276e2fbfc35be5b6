// Services. The cluster IPs and node ports come from the server's allocator
// (verbs/service-allocator.ts); here are the defaults and what an update carries over. The rules
// are in service-rules.ts, those of addresses and families in service-addresses.ts.
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  ensureObject,
  type JsonObject,
  objectAt,
  objectsAt,
  setDefaults,
  textAt,
  textsAt,
  valueAt,
} from "./fields.ts";
import { dnsLabel } from "./names.ts";
import { defineKind, keepStatus } from "./resource-kind.ts";
import { headlessIp } from "./service-addresses.ts";
import { serviceAllocation } from "./service-allocation.ts";
import { validateService, validateServiceUpdate } from "./service-rules.ts";
import {
  isExternallyReachable,
  needsHealthCheck,
  nodePortNumbers,
  usesNodePorts,
} from "./service-types.ts";

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

/** A change of type takes with it what the old type had and the client did not change as well. */
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
