// The endpoints that a slice or an Endpoints object lists, read in one form; and as a snapshot holds
// them, with the object that lists them.
import type { MonotonicMs } from "../environment/clock.ts";
import type { EndpointSlice, SliceContent, SlicePort } from "../kube/kinds/endpoint-slice.ts";
import type { EndpointAddress, Endpoints } from "../kube/kinds/endpoints.ts";
import type { TargetRef } from "../kube/kinds/target-ref.ts";

export interface ListedEndpoint {
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string;
  readonly address: string;
  /** One list for all endpoints of a slice or a subset. */
  readonly ports: readonly SlicePort[];
  /** Absent counts as ready, as the API asks. */
  readonly ready: boolean;
  /** Ready but for its termination. */
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname: string | undefined;
  readonly zone: string | undefined;
  readonly nodeName: string | undefined;
  readonly targetRef: TargetRef | undefined;
  /** Of a slice, zones whose clients should use it; absent without such a hint. */
  readonly hintedZones?: readonly string[];
}

/** In the order of the slice; an endpoint without an address is passed over. */
export function listedInSlice(slice: SliceContent): ListedEndpoint[] {
  const { addressType, ports } = slice;
  const listed: ListedEndpoint[] = [];
  // No copies of parts: this runs for every endpoint of a service at every change.
  for (const endpoint of slice.endpoints) {
    // The addresses of one endpoint lead to the same pod; the API asks to use the first.
    const address = endpoint.addresses[0];
    if (address === undefined) continue;
    const { ready = true, hostname, zone, nodeName, targetRef, hintedZones } = endpoint;
    const { serving = ready, terminating = false } = endpoint;
    listed.push({
      addressType,
      address,
      ports,
      ready,
      serving,
      terminating,
      hostname,
      zone,
      nodeName,
      targetRef,
      ...(hintedZones !== undefined && { hintedZones }),
    });
  }
  return listed;
}

/** Of each subset the ready ones first. */
export function listedInEndpoints({ subsets }: Pick<Endpoints, "subsets">): ListedEndpoint[] {
  return subsets.flatMap(({ addresses, notReadyAddresses, ports }) => {
    const listed = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean) => ({
      addressType: ip.includes(":") ? "IPv6" : "IPv4",
      address: ip,
      ports,
      ready,
      serving: ready,
      terminating: false,
      hostname,
      zone: undefined,
      nodeName,
      targetRef,
    });
    return [
      ...addresses.map((entry) => listed(entry, true)),
      ...notReadyAddresses.map((entry) => listed(entry, false)),
    ];
  });
}

/** 0 stands for every port, and for the one of a service without ports. */
export function portNumbers(ports: readonly Pick<SlicePort, "port">[]): readonly number[] {
  return ports.length === 0 ? [0] : ports.map(({ port }) => port ?? 0);
}

export type PublishedPort = Pick<SlicePort, "name" | "port" | "protocol">;

export interface PublishedEndpoint
  extends Pick<ListedEndpoint, "address" | "ready" | "serving" | "terminating"> {
  /** The object that lists it: `endpointslices/web-x7k2p`. */
  readonly object: string;
  /** When the version of that object was first seen. */
  readonly seenAtMs: MonotonicMs;
  readonly ports: readonly PublishedPort[];
  readonly pod: PublishedPod | undefined;
}

export interface PublishedPod {
  readonly name: string;
  readonly uid: string;
}

export function fromSlice(slice: EndpointSlice, seenAtMs: MonotonicMs): PublishedEndpoint[] {
  // A proxy routes to addresses and resolves no names here.
  if (slice.addressType === "FQDN") return [];
  const object = `endpointslices/${slice.metadata.name}`;
  return listedInSlice(slice).map((one) => published(one, object, seenAtMs));
}

export function fromEndpoints(endpoints: Endpoints, seenAtMs: MonotonicMs): PublishedEndpoint[] {
  const object = `endpoints/${endpoints.metadata.name}`;
  return listedInEndpoints(endpoints).map((one) => published(one, object, seenAtMs));
}

function published(
  { address, ports, ready, serving, terminating, targetRef }: ListedEndpoint,
  object: string,
  seenAtMs: MonotonicMs,
): PublishedEndpoint {
  const pod = isPod(targetRef) ? targetRef : undefined;
  return { object, seenAtMs, address, ports, ready, serving, terminating, pod };
}

function isPod(target: TargetRef | undefined): target is TargetRef & PublishedPod {
  return target?.kind === "Pod" && target.uid !== undefined;
}
