// The effect of each missing permission as text: which hop becomes unknown, and what is still
// visible. The sentences are the same before the start, from the permission check, and after a
// refusal. A resource that a server lacks has the same effect, and no permission would help.
import type { Hop } from "../timeline/witness.ts";
import type { ObservedResource, WatchPurpose } from "./cluster-status.ts";

export interface LostHop {
  readonly cluster: string;
  readonly resource: ObservedResource;
  /** All namespaces when undefined. */
  readonly namespace: string | undefined;
  /** The hop that stays unknown; undefined when only causes are lost. */
  readonly hop: Hop | undefined;
  /** One sentence for a person. */
  readonly sentence: string;
  /** The server does not have the resource, so no permission helps. */
  readonly isAbsent?: true;
}

/** A watch that is refused. */
export interface RefusedWatch {
  readonly resource: ObservedResource;
  readonly namespace: string | undefined;
  readonly purposes: readonly WatchPurpose[];
}

export function lostHop(
  cluster: string,
  { hasSlices = true }: { readonly hasSlices?: boolean } = {},
): (watch: RefusedWatch) => readonly LostHop[] {
  const isAbsent = (resource: ObservedResource) => !hasSlices && resource === "endpointslices";
  return ({ resource, namespace, purposes }) =>
    purposes.map((purpose) => ({
      cluster,
      resource,
      namespace,
      hop: purpose === "cause" ? undefined : purpose,
      sentence: isAbsent(resource)
        ? absentSlices(cluster)
        : sentenceOf(cluster, resource, namespace, purpose),
      ...(isAbsent(resource) && { isAbsent: true }),
    }));
}

/** Then slices are only searched for copies: the cluster publishes Endpoints. */
function absentSlices(cluster: string): string {
  return (
    `${cluster} has no EndpointSlices (Kubernetes 1.21 or later has them), so synced times ` +
    "are unknown"
  );
}

function sentenceOf(
  cluster: string,
  resource: ObservedResource,
  namespace: string | undefined,
  purpose: WatchPurpose,
): string {
  const place = namespace === undefined ? cluster : `namespace ${namespace} of ${cluster}`;
  return `Missing permission: list/watch ${resource} in ${place}. Effect: ${costOf(resource, purpose)}`;
}

function costOf(resource: ObservedResource, purpose: WatchPurpose): string {
  if (purpose === "cause") return "lost nodes are not shown as a cause";
  if (purpose === "published") return "published times are unknown";
  if (purpose === "synced") return "synced times are unknown";
  return resource === "pods"
    ? "pod times are unknown; timing starts at the EndpointSlice, after the endpoint controller"
    : "pod times are unknown; timing starts at the EndpointSlice";
}
