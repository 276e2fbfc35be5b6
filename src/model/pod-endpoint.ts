// Which endpoints a pod is to a service, and whether it is there for good: by the pod alone, whatever
// has been published. When requests go to it is decided elsewhere.
import { hasEnded, isTerminating, type Pod } from "../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../kube/kinds/service.ts";

export type PodState = "ready" | "not ready" | "terminating" | "ended";

/** The last that is true of it: a pod that has ended may be terminating, and one that is, ready. */
export function podState(pod: Pod): PodState {
  if (hasEnded(pod)) return "ended";
  if (isTerminating(pod)) return "terminating";
  return pod.ready === "True" ? "ready" : "not ready";
}

/** `IPv4` or `IPv6`; undefined where the service names none. */
type Family = string | undefined;

export function isOfFamily(address: string, family: Family): boolean {
  return family === undefined || (family === "IPv6") === address.includes(":");
}

export function podAddress({ podIP, secondPodIP }: Pod, family: Family): string | undefined {
  if (podIP !== "" && isOfFamily(podIP, family)) return podIP;
  return secondPodIP !== undefined && isOfFamily(secondPodIP, family) ? secondPodIP : undefined;
}

/** A named target port can be another number in each pod; a pod without it is no endpoint. */
export function podPort(pod: Pod, { targetPort, protocol }: ServicePort): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const named = pod.ports.find((one) => one.name === targetPort && one.protocol === protocol);
  return named?.containerPort;
}

export interface PodEndpoint {
  readonly address: string;
  /** 0 where the service has no ports. */
  readonly port: number;
}

/**
 * Of a pod that the service selects, each once: an address of each of the service's families, in their
 * order, or just the pod's first where the service names none.
 */
export function podEndpoints(pod: Pod, { ipFamilies, ports }: Service): readonly PodEndpoint[] {
  const families: readonly Family[] = ipFamilies.length === 0 ? [undefined] : ipFamilies;
  const addresses = families.flatMap((family) => podAddress(pod, family) ?? []);
  const numbers = ports.length === 0 ? [0] : ports.flatMap((port) => podPort(pod, port) ?? []);
  const distinct = [...new Set(numbers)];
  return addresses.flatMap((address) => distinct.map((port) => ({ address, port })));
}
