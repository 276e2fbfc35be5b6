// Decisions in few words.
import type {
  DecidedEndpoint,
  DecisionChanges,
  EndpointState,
  RoutingDecision,
} from "../../src/decide/decision.ts";

export interface ShortDecision {
  /** By host, a service for every path. */
  readonly hosts: Readonly<Record<string, string>>;
  /** By service, its endpoints as `address:port` or `address:port state`. */
  readonly services: Readonly<Record<string, readonly string[]>>;
}

export function decisionOf({ hosts, services }: ShortDecision): RoutingDecision {
  return {
    hosts: new Map(
      Object.entries(hosts).map(([host, service]) => [
        host,
        [{ path: "/", type: "Prefix", service }],
      ]),
    ),
    services: new Map(
      Object.entries(services).map(([key, endpoints]) => [key, endpoints.map(endpointOf)]),
    ),
  };
}

/** All services at this version, routes included. */
export function everythingChanged(decision: RoutingDecision, version = 1): DecisionChanges {
  const services = new Map([...decision.services.keys()].map((key) => [key, version]));
  return { routes: true, services };
}

export function servicesChanged(versions: Readonly<Record<string, number>>): DecisionChanges {
  return { routes: false, services: new Map(Object.entries(versions)) };
}

export function endpointOf(text: string): DecidedEndpoint {
  const [peer = "", state = "active"] = text.split(" ");
  const colon = peer.lastIndexOf(":");
  return {
    address: peer.slice(0, colon),
    port: Number(peer.slice(colon + 1)),
    cluster: "c1",
    podUid: `uid-of-${peer}`,
    state: state as EndpointState,
    reason: "a test says so",
  };
}
