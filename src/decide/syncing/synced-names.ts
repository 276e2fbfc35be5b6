// The names of the copies in an access cluster, and the labels by which Lockstep recognises its
// own. An object without the label belongs to another owner, whatever its name.
import { type EndpointSlice, managedByOf } from "../../kube/kinds/endpoint-slice.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Namespace } from "../../kube/kinds/namespace.ts";
import type { Service } from "../../kube/kinds/service.ts";

const owner = "lockstep.dev";

/** The mark on Services and Namespaces; slices have a label of their own for it. */
const managedByLabel = "app.kubernetes.io/managed-by";
const sliceManagedByLabel = "endpointslice.kubernetes.io/managed-by";
const serviceNameLabel = "kubernetes.io/service-name";
const sourceClusterLabel = "lockstep.dev/source-cluster";

/** With it a kube-proxy is not even sent the slice: a headless Service has nothing for it to do. */
const headlessLabel = "service.kubernetes.io/headless";

/** When the change that a copy shows happened, by the source's clock if known. */
export const originTimeAnnotation = "lockstep.dev/origin-time";

/** On a Service in a business cluster: `true` has it synced, `false` has it left alone. */
export const syncLabel = "lockstep.dev/sync";

export const ownedLabels: StringMap = { [managedByLabel]: owner };

export function ownedSliceLabels(service: string, cluster: string): StringMap {
  return {
    [serviceNameLabel]: service,
    [sliceManagedByLabel]: owner,
    [headlessLabel]: "",
    [sourceClusterLabel]: cluster,
  };
}

export function isOwned({ metadata }: Service | Namespace): boolean {
  return metadata.labels[managedByLabel] === owner;
}

export function isOwnedSlice(slice: EndpointSlice): boolean {
  return managedByOf(slice) === owner;
}

/** The cluster whose endpoints an owned slice holds. */
export function sourceClusterOf(slice: EndpointSlice): string | undefined {
  return slice.metadata.labels[sourceClusterLabel];
}

/**
 * The service's name comes first because ingress-nginx searches slices by that prefix. Names of two
 * services may be equal (`a` of `b-c`, `a-b` of `c`), so a number is free only if no slice has it.
 */
export function sliceName(service: string, cluster: string, number: number): string {
  return `${service}-${cluster}-${number}`;
}

/** Part of object names and a label's value, so it must be able to be both. */
export function isClusterName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
