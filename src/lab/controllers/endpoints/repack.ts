// Puts addresses and ports into as few subsets as possible, always in the same order whatever the
// order of the pods, because the controller compares by position (RepackSubsets in
// pkg/api/v1/endpoints and, for API servers, pkg/api/endpoints).
import { portsInOrder, type SubsetTypes, subsetsInOrder } from "./subset-order.ts";

export interface SubsetAddress {
  readonly ip: string;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef?: TargetRef;
}

/** The object behind an address: kind, namespace, name and further fields. */
export interface TargetRef {
  readonly uid?: string;
  readonly [field: string]: unknown;
}

export interface SubsetPort {
  readonly name?: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

export interface Subset {
  readonly addresses?: readonly SubsetAddress[];
  readonly notReadyAddresses?: readonly SubsetAddress[];
  readonly ports?: readonly SubsetPort[];
}

/** One address at one port; without a port for headless services that name none. */
export interface Placed {
  readonly port: SubsetPort | undefined;
  /**
   * Where a port with an app protocol was read, if it was. Go compares app protocols by pointer, so
   * that such ports of two places are never the same.
   */
  readonly readAt?: string;
  readonly address: SubsetAddress;
  readonly ready: boolean;
}

export function repack(placed: Iterable<Placed>, types: SubsetTypes): readonly Subset[] {
  const groups = new Map<
    string,
    { readonly ports: SubsetPort[]; readonly at: readonly Placed[] }
  >();
  for (const [text, addresses] of byPort(placed)) {
    const at = [...addresses.values()].sort(byAddress);
    const signature = at.map(({ address, ready }) => `${keyOf(address)} ${ready}`).join();
    const group = groups.get(signature) ?? { ports: [], at };
    groups.set(signature, group);
    const port = at[0]?.port;
    if (port !== undefined && text !== "") group.ports.push(port);
  }
  const subsets = [...groups.values()].map(({ ports, at }) =>
    subsetOf(portsInOrder(ports, types), at),
  );
  return subsetsInOrder(subsets, types);
}

/**
 * For each port its addresses; an address that is ready once and not ready once is not ready, and of
 * the first entry of an address counts.
 */
function byPort(placed: Iterable<Placed>): Map<string, Map<string, Placed>> {
  const ports = new Map<string, Map<string, Placed>>();
  const known = new Map<string, SubsetAddress>();
  for (const one of placed) {
    const text = one.port === undefined ? "" : JSON.stringify([one.port, one.readAt]);
    const addresses = ports.get(text) ?? new Map<string, Placed>();
    ports.set(text, addresses);
    const key = keyOf(one.address);
    const address = known.get(key) ?? one.address;
    known.set(key, address);
    if (addresses.get(key)?.ready !== false) addresses.set(key, { ...one, address });
  }
  return ports;
}

function subsetOf(ports: readonly SubsetPort[], at: readonly Placed[]): Subset {
  const addresses = at.filter(({ ready }) => ready).map(({ address }) => address);
  const notReadyAddresses = at.filter(({ ready }) => !ready).map(({ address }) => address);
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

function keyOf(address: SubsetAddress): string {
  return `${address.ip} ${uidOf(address)}`;
}

function uidOf({ targetRef }: SubsetAddress): string {
  return targetRef?.uid ?? "";
}

function byAddress(one: Placed, other: Placed): number {
  return (
    compare(one.address.ip, other.address.ip) || compare(uidOf(one.address), uidOf(other.address))
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
