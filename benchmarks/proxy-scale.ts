// How large the proxy's state is in this benchmark. To Lockstep all endpoints are different ones, but
// only a few addresses are behind most of them, so that a kept connection is found again as often as
// in a static configuration. Every address of 127.0.0.0/8 reaches the same backend.
import type {
  Certificate,
  DecidedEndpoint,
  PathRule,
  RoutingDecision,
} from "../src/decide/decision.ts";
import type { HostRange } from "./bench-load.ts";

export const hostsCount = 10_000;
const endpointsPerService = 10;
export const endpointsCount = hostsCount * endpointsPerService;

/** Addresses that only the services with peers of their own have. */
export const manyPeers = 4_000;
export const largeHost: HostRange = { name: "large.example", count: 1 };

/** A power of two, like the proxy's number of pools: an address always meets the same of them. */
const fewPeers = 16;

export const moved = "127.82.0.1";

export const ordinaryHosts: HostRange = { name: "host-#.example", count: hostsCount };

export function serviceKey(service: number): string {
  return `shop/service-${service}:80`;
}

/** Hosts whose services have, together, `manyPeers` addresses. */
export const distinctHosts: HostRange = {
  name: "distinct-#.example",
  count: manyPeers / endpointsPerService,
};

export function hostAt({ name }: HostRange, number: number): string {
  return name.replace("#", String(number));
}

/** The usual number of endpoints of a service, also in the static configuration. */
export function fewAddresses(): readonly string[] {
  return Array.from({ length: fewPeers }, (_, index) => `127.80.0.${index + 1}`);
}

export function manyAddresses(): readonly string[] {
  return Array.from({ length: manyPeers }, (_, index) => {
    return `127.81.${Math.floor(index / 250)}.${(index % 250) + 1}`;
  });
}

/** All of them hold the same certificate, but nginx cannot know that. */
const certificatesCount = 100;

export function wholeDecision(port: number, certificate: Certificate): RoutingDecision {
  const services = new Map<string, readonly DecidedEndpoint[]>();
  const hosts = new Map<string, readonly PathRule[]>();
  const add = (host: string, service: string, endpoints: readonly DecidedEndpoint[]): void => {
    hosts.set(host, [{ path: "/", type: "Prefix", service }]);
    services.set(service, endpoints);
  };
  for (let service = 0; service < hostsCount; service += 1) {
    add(hostAt(ordinaryHosts, service), serviceKey(service), ordinaryEndpoints(service, port));
  }
  const many = manyAddresses().map((address) => endpointAt(address, port, address));
  for (let number = 0; number < distinctHosts.count; number += 1) {
    const first = number * endpointsPerService;
    const host = hostAt(distinctHosts, number);
    add(host, `shop/distinct-${number}:80`, many.slice(first, first + endpointsPerService));
  }
  add(largeHost.name, "shop/large:80", many);
  const numbers = Array.from({ length: hostsCount }, (_, number) => number);
  const secret = (number: number): string => `shop/tls-${number % certificatesCount}`;
  return {
    hosts,
    services,
    certificates: new Map(
      numbers.slice(0, certificatesCount).map((number) => [secret(number), certificate]),
    ),
    serverNames: new Map(numbers.map((number) => [hostAt(ordinaryHosts, number), secret(number)])),
  };
}

/** The endpoint that a service is moved to and fro, to see by which one requests are routed. */
export function movedEndpoint(port: number): DecidedEndpoint {
  return endpointAt(moved, port, "moved");
}

export function ordinaryEndpoints(service: number, port: number): readonly DecidedEndpoint[] {
  const addresses = fewAddresses();
  return Array.from({ length: endpointsPerService }, (_, index) => {
    const number = service * endpointsPerService + index;
    return endpointAt(addresses[number % fewPeers] ?? "", port, String(number));
  });
}

function endpointAt(address: string, port: number, pod: string): DecidedEndpoint {
  return {
    address,
    port,
    cluster: "bench",
    podUid: `6a7e5a0c-0000-4000-8000-${pod.padStart(12, "0")}`,
    podName: `web-${pod}`,
    state: "active",
    reason: "its pod is ready",
  };
}
