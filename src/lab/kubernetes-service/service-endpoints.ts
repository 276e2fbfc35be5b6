// One round of an API server over the Endpoints of `kubernetes`. Pure: from the object as read to the
// subsets to write, or undefined when nothing is to be changed.
import { listAt, optionalNumber, optionalString, type RawRecord } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";

export interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export interface ServiceSubset {
  readonly addresses: readonly string[];
  readonly ports: readonly ServicePort[];
}

export interface Reconciliation {
  readonly subsets: readonly ServiceSubset[];
  /** Whether the subsets were replaced because there was not exactly one. */
  readonly remade: boolean;
}

/** The ready addresses and the ports of every subset. */
export function subsetsOf(endpoints: RawRecord): readonly ServiceSubset[] {
  return listAt(endpoints, "subsets").map((entry) => {
    const subset = objectRecord(entry);
    return {
      addresses: listAt(subset, "addresses").map(
        (address) => optionalString(objectRecord(address), "ip") ?? "",
      ),
      ports: listAt(subset, "ports").map((item) => {
        const port = objectRecord(item);
        return {
          name: optionalString(port, "name") ?? "",
          port: optionalNumber(port, "port") ?? 0,
          protocol: optionalString(port, "protocol") ?? "TCP",
        };
      }),
    };
  });
}

/**
 * ReconcileEndpoints of the master-count reconciler. A server adds itself and, beyond the count,
 * removes the addresses that follow its own in order, around the end if necessary. It does not know
 * which of the others are alive, so the last writer wins.
 */
export function byMasterCount(
  subsets: readonly ServiceSubset[],
  own: { readonly ip: string; readonly ports: readonly ServicePort[] },
  options: { readonly count: number; readonly setPorts: boolean },
): Reconciliation | undefined {
  const [subset] = subsets;
  if (subset === undefined || subsets.length !== 1) {
    return { subsets: [{ addresses: [own.ip], ports: own.ports }], remade: true };
  }
  const ports = options.setPorts ? own.ports : subset.ports;
  const isListed = subset.addresses.includes(own.ip) && subset.addresses.length <= options.count;
  if (isListed && samePorts(ports, subset.ports)) return undefined;
  const addresses = isListed ? subset.addresses : withOwn(subset.addresses, own.ip, options.count);
  return { subsets: [{ addresses, ports }], remade: false };
}

/** doReconcile of the lease reconciler: the addresses are those with a lease. */
export function byLeases(
  subsets: readonly ServiceSubset[],
  leases: readonly string[],
  own: { readonly ports: readonly ServicePort[] },
  options: { readonly setPorts: boolean },
): Reconciliation | undefined {
  const [subset] = subsets;
  const wanted = sorted(leases);
  if (subset === undefined || subsets.length !== 1) {
    return { subsets: ofAddresses(wanted, own.ports), remade: true };
  }
  const ports = options.setPorts ? own.ports : subset.ports;
  const isSame = sorted(subset.addresses).join() === wanted.join();
  if (isSame && samePorts(ports, subset.ports)) return undefined;
  return { subsets: ofAddresses(wanted, ports), remade: false };
}

/** RemoveEndpoints of the master-count reconciler, of the first subset. */
export function withoutAddress(
  subsets: readonly ServiceSubset[],
  ip: string,
): readonly ServiceSubset[] {
  const [first, ...rest] = subsets;
  if (first === undefined) return [];
  const addresses = first.addresses.filter((address) => address !== ip);
  return [...ofAddresses(addresses, first.ports), ...rest];
}

function withOwn(listed: readonly string[], ip: string, count: number): readonly string[] {
  const addresses = sorted([...listed, ip]);
  // The original looks it up once too: after a removal that wraps around it is another address.
  const place = addresses.indexOf(ip);
  while (addresses.length > count) addresses.splice((place + 1) % addresses.length, 1);
  return addresses;
}

/** A subset without addresses is none. */
function ofAddresses(
  addresses: readonly string[],
  ports: readonly ServicePort[],
): readonly ServiceSubset[] {
  return addresses.length === 0 ? [] : [{ addresses, ports }];
}

/** Without repetition, by the bytes of their text: the order of RepackSubsets. */
function sorted(addresses: readonly string[]): string[] {
  return [...new Set(addresses)].sort((a, b) => (a < b ? -1 : 1));
}

function samePorts(a: readonly ServicePort[], b: readonly ServicePort[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
