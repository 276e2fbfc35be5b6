// What a service's type entails: node ports, a way in from outside, a port for health checks.
import { type JsonObject, objectsAt, textAt, textsAt } from "./fields.ts";

export function usesNodePorts(spec: JsonObject): boolean {
  const type = textAt(spec, "type");
  return type === "NodePort" || type === "LoadBalancer";
}

/** By node port, load balancer or external address. */
export function isExternallyReachable(spec: JsonObject): boolean {
  return (
    usesNodePorts(spec) ||
    (textAt(spec, "type") === "ClusterIP" && textsAt(spec, "externalIPs").length > 0)
  );
}

/** Load balancers ask each node whether it has pods of the service. */
export function needsHealthCheck(spec: JsonObject): boolean {
  return (
    textAt(spec, "type") === "LoadBalancer" && textAt(spec, "externalTrafficPolicy") === "Local"
  );
}

/** Each port's number on the nodes, as far as it has one. */
export function nodePortNumbers(spec: JsonObject): readonly number[] {
  return objectsAt(spec, "ports")
    .map((port) => port["nodePort"])
    .filter((port) => typeof port === "number")
    .filter((port) => port !== 0);
}
