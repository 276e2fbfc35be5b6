// The planned lists and watches of a cluster: the same plan is previewed, checked for permissions,
// and carried out. Each watch is of one kind, in one namespace or in all.
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../kube/kinds/endpoints.ts";
import type { ResourcePlace } from "../kube/kinds/kind.ts";
import { nodeKind } from "../kube/kinds/node.ts";
import { podKind } from "../kube/kinds/pod.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import type { ObservedResource, WatchPurpose } from "./cluster-status.ts";

export interface ClusterPart {
  /** Whether pods run there and are published. */
  readonly isBusiness: boolean;
  /** Whether copies of other clusters' endpoints are looked for there. */
  readonly isAccess: boolean;
  /** All when undefined; each is watched by itself, so rights in them are enough. */
  readonly namespaces: readonly string[] | undefined;
  readonly nodes: boolean;
}

export interface PlannedWatch {
  readonly resource: ObservedResource;
  /** All namespaces when undefined. */
  readonly namespace: string | undefined;
  readonly purposes: readonly WatchPurpose[];
}

export const placeOf: Readonly<Record<ObservedResource, ResourcePlace>> = {
  services: serviceKind,
  pods: podKind,
  endpointslices: endpointSliceKind,
  endpoints: endpointsKind,
  nodes: nodeKind,
};

export function plannedWatches(part: ClusterPart, form: PublishedForm): readonly PlannedWatch[] {
  const { isBusiness, nodes, namespaces = [undefined] } = part;
  const inNamespaces = namespaces.flatMap((namespace) =>
    namespacedWatches(part, form).map((watch) => ({ ...watch, namespace })),
  );
  if (!isBusiness || !nodes) return inNamespaces;
  return [...inNamespaces, { resource: "nodes", namespace: undefined, purposes: ["cause"] }];
}

function namespacedWatches(
  { isBusiness, isAccess }: ClusterPart,
  form: PublishedForm,
): readonly Omit<PlannedWatch, "namespace">[] {
  const copies = { resource: "endpointslices", purposes: ["synced"] } as const;
  if (!isBusiness) return isAccess ? [copies] : [];
  const isShared = isAccess && form === "endpointslices";
  return [
    { resource: "services", purposes: ["pod"] },
    { resource: "pods", purposes: ["pod"] },
    { resource: form, purposes: isShared ? ["published", "synced"] : ["published"] },
    ...(isAccess && !isShared ? [copies] : []),
  ];
}
