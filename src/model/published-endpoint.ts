// A published endpoint in one form, whether a slice or an Endpoints object holds it.
import type { MonotonicMs } from "../environment/clock.ts";
import type { EndpointSlice } from "../kube/kinds/endpoint-slice.ts";
import type { EndpointAddress, Endpoints } from "../kube/kinds/endpoints.ts";
import type { TargetRef } from "../kube/kinds/target-ref.ts";

export interface PublishedPort {
  /** The name of the service's port; empty when that has none. */
  readonly name: string;
  /** Undefined means every port. */
  readonly port: number | undefined;
  readonly protocol: string;
}

export interface PublishedEndpoint {
  /** The object that lists it: `endpointslices/web-x7k2p`. */
  readonly object: string;
  /** When the version of that object was first seen. */
  readonly seenAtMs: MonotonicMs;
  readonly address: string;
  readonly ports: readonly PublishedPort[];
  /** Absent counts as ready, as the API asks. */
  readonly ready: boolean;
  /** Ready but for its termination. */
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly pod: PublishedPod | undefined;
}

export interface PublishedPod {
  readonly name: string;
  readonly uid: string;
}

export function fromSlice(slice: EndpointSlice, seenAtMs: MonotonicMs): PublishedEndpoint[] {
  // Names to be resolved are for DNS, not for a proxy that was told to trust addresses.
  if (slice.addressType === "FQDN") return [];
  const object = `endpointslices/${slice.metadata.name}`;
  const { ports } = slice;
  const published: PublishedEndpoint[] = [];
  for (const endpoint of slice.endpoints) {
    // The addresses of one endpoint are the same pod; the API asks to use the first.
    const [address] = endpoint.addresses;
    if (address === undefined) continue;
    const ready = endpoint.ready ?? true;
    published.push({
      object,
      seenAtMs,
      address,
      ports,
      ready,
      serving: endpoint.serving ?? ready,
      terminating: endpoint.terminating ?? false,
      pod: podOf(endpoint.targetRef),
    });
  }
  return published;
}

export function fromEndpoints(endpoints: Endpoints, seenAtMs: MonotonicMs): PublishedEndpoint[] {
  const object = `endpoints/${endpoints.metadata.name}`;
  return endpoints.subsets.flatMap(({ addresses, notReadyAddresses, ports }) => {
    const publish = (entry: EndpointAddress, ready: boolean): PublishedEndpoint => ({
      object,
      seenAtMs,
      address: entry.ip,
      ports,
      ready,
      serving: ready,
      terminating: false,
      pod: podOf(entry.targetRef),
    });
    return [
      ...addresses.map((entry) => publish(entry, true)),
      ...notReadyAddresses.map((entry) => publish(entry, false)),
    ];
  });
}

function podOf(target: TargetRef | undefined): PublishedPod | undefined {
  if (target?.kind !== "Pod" || target.uid === undefined) return undefined;
  return { name: target.name, uid: target.uid };
}
