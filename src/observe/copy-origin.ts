// Finds the original of a slice in an access cluster by its labels: those of `lockstep sync`, of
// the multi-cluster services API (KEP-1645) and of Karmada. The API names the service by a label of
// its own if the copy is for another one, as Submariner does and Cilium not always. A copier may
// use another name for a cluster than the observer does.
import { sourceClusterOf } from "../decide/syncing/copy-names.ts";
import { type EndpointSlice, serviceNameOf } from "../kube/kinds/endpoint-slice.ts";
import type { ServiceRef } from "../timeline/witness.ts";

/** The service that a slice is a copy of; undefined for one that is no copy. */
export type CopyOrigin = (slice: EndpointSlice) => ServiceRef | undefined;

export interface NamedCluster {
  readonly cluster: string;
  /** Other names of the cluster, for example its id in a cluster set. */
  readonly aliases?: readonly string[];
}

const importedServiceLabel = "multicluster.kubernetes.io/service-name";
const importedClusterLabel = "multicluster.kubernetes.io/source-cluster";

/** Of Karmada's MultiClusterService, whose copies keep the service's name. */
const provisionClusterAnnotation = "endpointslice.karmada.io/provision-cluster";

/**
 * For the copies in one access cluster. A copy of a cluster that none of the observed ones is known
 * to be is matched by its addresses alone, because it may be one of them under another name; where
 * no other cluster is observed it keeps the name that the copy gives.
 */
export function copyOrigin(accessCluster: string, clusters: readonly NamedCluster[]): CopyOrigin {
  const names = new Map(
    clusters.flatMap(({ cluster, aliases = [] }) =>
      [cluster, ...aliases].map((name) => [name, cluster]),
    ),
  );
  const isAlone = clusters.every(({ cluster }) => cluster === accessCluster);
  return (slice) => {
    const copied = copiedService(slice);
    if (copied === undefined) return undefined;
    const cluster = names.get(copied.cluster) ?? (isAlone ? copied.cluster : undefined);
    return { cluster, service: `${slice.metadata.namespace}/${copied.name}` };
  };
}

function copiedService(
  slice: EndpointSlice,
): { readonly cluster: string; readonly name: string } | undefined {
  const { labels } = slice.metadata;
  const owned = sourceClusterOf(slice);
  const cluster =
    owned ?? labels[importedClusterLabel] ?? slice.annotations[provisionClusterAnnotation];
  const name = labels[importedServiceLabel] ?? serviceNameOf(slice);
  return cluster === undefined || name === undefined ? undefined : { cluster, name };
}
