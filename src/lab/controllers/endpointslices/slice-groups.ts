// The desired content of the slices of a service, as a pure function: its pods, grouped by address
// family and by their ports for the service. Terminating pods stay in, with the conditions for it.
import type { Node } from "../../../kube/kinds/node.ts";
import { podIPs } from "../../../kube/kinds/pod.ts";
import type { Service } from "../../../kube/kinds/service.ts";
import type { DeepHash } from "../deep-hash.ts";
import { findPort, hostnameFor, ipFamilyOf } from "../memberships.ts";
import { isReady, isTerminal, type OwnedPod } from "../owned-pod.ts";
import { portsKey, type SlicePort, slicePortsInOrder } from "./slice-ports.ts";

export type AddressType = "IPv4" | "IPv6";

export interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef: {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly zone?: string;
  readonly hints?: EndpointHints;
}

export interface EndpointHints {
  readonly forZones?: readonly { readonly name: string }[];
  readonly forNodes?: readonly { readonly name: string }[];
}

/** Endpoints that may share a slice. */
export interface SliceGroup {
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

export interface SliceGroups {
  readonly groups: readonly SliceGroup[];
  /** Pods left out because their node is not known; the sync must be tried again. */
  readonly withoutNode: readonly OwnedPod[];
}

export interface SliceGroupsInput {
  readonly service: Service;
  readonly pods: Iterable<OwnedPod>;
  readonly addressType: AddressType;
  readonly nodeNamed: (name: string) => Node | undefined;
  /** Sorts ports. */
  readonly hash: DeepHash;
}

export const zoneLabel = "topology.kubernetes.io/zone";

export function sliceGroups(input: SliceGroupsInput): SliceGroups {
  const { service, pods, addressType, nodeNamed, hash } = input;
  const groups = new Map<string, { readonly ports: readonly SlicePort[]; endpoints: Endpoint[] }>();
  const withoutNode: OwnedPod[] = [];
  for (const pod of pods) {
    if (isTerminal(pod) || podIPs(pod).length === 0) continue;
    const ports = slicePortsInOrder(portsOf(service, pod), hash);
    const key = portsKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    groups.set(key, group);
    const node = nodeNamed(pod.nodeName);
    if (node === undefined && !service.publishNotReadyAddresses) {
      withoutNode.push(pod);
      continue;
    }
    const addresses = podIPs(pod).filter((ip) => ipFamilyOf(ip) === addressType);
    if (addresses.length > 0) group.endpoints.push(endpointOf(service, pod, node, addresses));
  }
  return { groups: [...groups.values()], withoutNode };
}

/** The families a service has slices for. */
export function addressTypesOf(service: Service): readonly AddressType[] {
  const families = service.ipFamilies.filter((one) => one === "IPv4" || one === "IPv6");
  if (families.length > 0) return [...new Set(families)];
  // Servers before 1.20 name no families; then a headless service may have both.
  return service.clusterIP === "" || service.clusterIP === "None"
    ? ["IPv4", "IPv6"]
    : [ipFamilyOf(service.clusterIP)];
}

function portsOf(service: Service, pod: OwnedPod): readonly SlicePort[] {
  const ports: SlicePort[] = [];
  for (const servicePort of service.ports) {
    const port = findPort(pod, servicePort, { sidecars: true });
    if (port === undefined) continue;
    const { name, protocol, appProtocol } = servicePort;
    ports.push({ name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) });
  }
  return ports;
}

function endpointOf(
  service: Service,
  pod: OwnedPod,
  node: Node | undefined,
  addresses: readonly string[],
): Endpoint {
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.publishNotReadyAddresses || (serving && !terminating);
  const { namespace, name, uid } = pod.metadata;
  const hostname = hostnameFor(pod, service);
  const zone = node?.metadata.labels[zoneLabel] ?? "";
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    ...(pod.nodeName === "" ? {} : { nodeName: pod.nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(zone === "" ? {} : { zone }),
  };
}
