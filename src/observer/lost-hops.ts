// What each missing permission costs, in words: which hop becomes unknown, and what is still seen
// without it. The same sentences before the start, from asking, and after it, from being refused.
// What a server does not have costs as much, and no permission would help.
import type { Hop } from "../journeys/witness.ts";
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
    }));
}

/** Only copies are looked for then: what is published there are Endpoints. */
function absentSlices(cluster: string): string {
  return (
    `${cluster} has no EndpointSlices, and so no copies: synced stays unknown ` +
    "(Kubernetes has them since 1.21)"
  );
}

function sentenceOf(
  cluster: string,
  resource: ObservedResource,
  namespace: string | undefined,
  purpose: WatchPurpose,
): string {
  const place = namespace === undefined ? cluster : `namespace ${namespace} of ${cluster}`;
  return `no list and watch of ${resource} in ${place}: ${costOf(resource, purpose)}`;
}

function costOf(resource: ObservedResource, purpose: WatchPurpose): string {
  if (purpose === "cause") return "a change is not blamed on the node that was lost";
  if (purpose === "published") return "published stays unknown, also how late it was";
  if (purpose === "synced") return "synced stays unknown: copies there are not seen";
  return resource === "pods"
    ? "pod stays unknown: a change begins when it is published, and what the endpoint " +
        "controller takes before that is not measured"
    : "pod stays unknown: which pods belong to a service cannot be told, so a change begins " +
        "when it is published";
}
