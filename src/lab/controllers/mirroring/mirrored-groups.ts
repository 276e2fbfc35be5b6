// The desired content of the slices copied from an Endpoints object, as a pure function: its
// subsets in their shortest form, each as one slice per address family. Addresses over the limit of
// a subset are left out, ready addresses last.
import type { DeepHash } from "../deep-hash.ts";
import {
  repack,
  type Subset,
  type SubsetAddress,
  type SubsetPort,
  type TargetRef,
} from "../endpoints/repack.ts";
import { placedIn } from "../endpoints/stored-subsets.ts";
import type { AddressType } from "../endpointslices/slice-groups.ts";
import { portsKey, type SlicePort, slicePortsInOrder } from "../endpointslices/slice-ports.ts";
import { ipFamilyOf } from "../memberships.ts";
import type { WholeObject } from "../whole-object.ts";

/** One address as a slice has it: neither `serving` nor `terminating` is known of it. */
export interface MirroredEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean };
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: TargetRef;
}

export interface MirroredGroup {
  readonly addressType: AddressType;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly MirroredEndpoint[];
}

export interface MirroredGroups {
  /** Without those that would be empty. */
  readonly groups: readonly MirroredGroup[];
  /** Addresses over the limit. */
  readonly skipped: number;
}

const families: readonly AddressType[] = ["IPv4", "IPv6"];

export function mirroredGroups(
  endpoints: WholeObject,
  maxPerSubset: number,
  hash: DeepHash,
): MirroredGroups {
  const groups = new Map<string, Gathered>();
  let skipped = 0;
  // Only versions that have app protocols copy Endpoints: since 1.19.
  const types = { package: "v1", appProtocol: true, hash } as const;
  for (const subset of repack(placedIn(endpoints.raw), types)) {
    const ports = slicePortsInOrder((subset.ports ?? []).map(slicePort), hash);
    const all = addressesIn(subset);
    skipped += Math.max(0, all.length - maxPerSubset);
    for (const { address, ready } of all.slice(0, maxPerSubset)) {
      const addressType = ipFamilyOf(address.ip);
      const key = groupKey(addressType, ports);
      const group = groups.get(key) ?? { addressType, ports, byIdentity: new Map() };
      groups.set(key, group);
      group.byIdentity.set(identityOf(address), mirrored(address, ready));
    }
  }
  const inOrder = [...groups.values()]
    .map(({ byIdentity, ...group }) => ({ ...group, endpoints: [...byIdentity.values()] }))
    .sort((one, other) => families.indexOf(one.addressType) - families.indexOf(other.addressType));
  return { groups: inOrder, skipped };
}

/** A group as it grows: subsets that cannot be one may still have the same ports and addresses. */
interface Gathered extends Omit<MirroredGroup, "endpoints"> {
  readonly byIdentity: Map<string, MirroredEndpoint>;
}

/** The identity of an endpoint within a slice (endpointset.go hashEndpoint). */
function identityOf({ ip, hostname, targetRef }: SubsetAddress): string {
  return JSON.stringify([ip, hostname, targetRef?.["namespace"], targetRef?.["name"]]);
}

/** Equal for slices of which there should be one. */
export function groupKey(addressType: string, ports: readonly SlicePort[]): string {
  return `${addressType} ${portsKey(ports)}`;
}

function addressesIn({ addresses = [], notReadyAddresses = [] }: Subset) {
  return [
    ...addresses.map((address) => ({ address, ready: true })),
    ...notReadyAddresses.map((address) => ({ address, ready: false })),
  ];
}

function mirrored(
  { ip, hostname, nodeName, targetRef }: SubsetAddress,
  ready: boolean,
): MirroredEndpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

function slicePort({ name = "", port, protocol, appProtocol }: SubsetPort): SlicePort {
  return { name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) };
}
