// One endpoint as it is to appear in an access cluster, wherever it was learnt from. Here from what a
// business cluster has published, in either form; a decided truth would be another way to make them.
import type { EndpointSlice, SlicePort } from "../../kube/kinds/endpoint-slice.ts";
import type { EndpointAddress, Endpoints } from "../../kube/kinds/endpoints.ts";
import type { TargetRef } from "../../kube/kinds/target-ref.ts";
import type { PublishedObjects } from "../../sources/published-watch.ts";
import { isOwnedSlice } from "./synced-names.ts";

/**
 * The name of its node is left out: in the access cluster that name means another machine, or none.
 * The pod stays, so that an observer can tell it from its successor with the same address.
 */
export interface SyncedEndpoint {
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string;
  readonly address: string;
  readonly ports: readonly SlicePort[];
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname: string | undefined;
  readonly zone: string | undefined;
  readonly targetRef: TargetRef | undefined;
}

/** What the cluster's own controllers, or its people, have published; never Lockstep's own copies. */
export function publishedToSync({ slices, endpoints }: PublishedObjects): SyncedEndpoint[] {
  const published = slices.filter((slice) => !isOwnedSlice(slice)).flatMap(fromSlice);
  return endpoints === undefined ? published : [...published, ...fromEndpoints(endpoints)];
}

/** In the order of the slice; an endpoint without an address is passed over. */
export function fromSlice({ addressType, ports, endpoints }: EndpointSlice): SyncedEndpoint[] {
  return endpoints.flatMap(({ addresses, hostname, zone, targetRef, ...conditions }) => {
    // The addresses of one endpoint lead to the same pod; the API asks to use the first.
    const [address] = addresses;
    if (address === undefined) return [];
    const ready = conditions.ready ?? true;
    const serving = conditions.serving ?? ready;
    const terminating = conditions.terminating ?? false;
    const state = { ready, serving, terminating };
    return [{ addressType, address, ports, ...state, hostname, zone, targetRef }];
  });
}

function fromEndpoints({ subsets }: Endpoints): SyncedEndpoint[] {
  return subsets.flatMap(({ addresses, notReadyAddresses, ports }) => {
    const endpoint = (
      { ip, hostname, targetRef }: EndpointAddress,
      ready: boolean,
    ): SyncedEndpoint => ({
      addressType: ip.includes(":") ? "IPv6" : "IPv4",
      address: ip,
      ports,
      ready,
      serving: ready,
      terminating: false,
      hostname,
      zone: undefined,
      targetRef,
    });
    return [
      ...addresses.map((address) => endpoint(address, true)),
      ...notReadyAddresses.map((address) => endpoint(address, false)),
    ];
  });
}
