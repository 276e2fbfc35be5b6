// What an API server makes of the Endpoints of `kubernetes` in one round. Pure: the object as it was
// read goes in, the subsets to write come out, or nothing when all is as the server wants it.
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
  /** Whether nothing of the old object was worth keeping. */
  readonly remade: boolean;
}

/** The ready addresses of every subset, without what this service never has. */
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
 * removes the addresses that follow its own in order, around the end if need be. Nothing says which
 * of the others are alive: whoever came last is right.
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

/** doReconcile of the lease reconciler: the addresses are those whose leases have not run out. */
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

function withOwn(listed: readonly string[], ip: string, count: number): readonly string[] {
  const addresses = sorted([...listed, ip]);
  // Looked up once, as in the original: when the removal wraps around, the place is no longer ours.
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
