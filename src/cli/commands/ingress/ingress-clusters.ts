// Which clusters `lockstep ingress` is about: those that were named, or the one it is a pod of, or
// the kubeconfig's current one.
import type { Environment } from "../../../environment/environment.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import { inClusterAccess, isInCluster } from "../../../kube/credentials/credentials-in-cluster.ts";
import { kubeconfigAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { UsageError } from "../../command.ts";
import { sameClusters } from "../../same-clusters.ts";
import type { IngressConfig } from "./ingress-settings.ts";

export interface IngressClusters {
  readonly clusters: readonly ClusterAccess[];
  readonly access: ClusterAccess;
  /** The access cluster is the one this process is a pod of. */
  readonly isOwnCluster: boolean;
}

/** In a pod its own cluster, unless a kubeconfig or a context is asked for. */
export async function ingressClusters(
  environment: Environment,
  { kubeconfig, contexts, accessContext }: IngressConfig,
): Promise<IngressClusters> {
  const isAsked = kubeconfig !== undefined || contexts.length > 0 || accessContext !== undefined;
  if (!isAsked && isInCluster(environment.processes)) {
    const access = inClusterAccess(environment);
    return { clusters: [access], access, isOwnCluster: true };
  }
  const first = accessContext === undefined ? [] : [accessContext];
  const names = [...new Set([...first, ...contexts])];
  const accesses = await kubeconfigAccess({
    ...environment,
    path: kubeconfig,
    contexts: names.length === 0 ? "current" : names,
  });
  // The access context is named first, and the first --context stands in for it.
  const [access] = accesses;
  if (access === undefined) throw new UsageError("the kubeconfig has no cluster to watch");
  const wanted = new Set(contexts.length === 0 ? [access.name] : contexts);
  const clusters = accesses.filter(({ name }) => wanted.has(name));
  return { clusters, access, isOwnCluster: false };
}

/**
 * Says so when two of the contexts lead to one cluster. They are kept all the same: they were named,
 * and an ingress that does not start would be worse.
 */
export async function warnOfSameClusters(
  environment: Environment,
  { clusters }: Pick<IngressClusters, "clusters">,
  signal: AbortSignal,
): Promise<void> {
  const contexts = clusters.map((access) => ({ name: access.name, access }));
  const options = { ...environment, userAgent: "lockstep-ingress", signal };
  for (const { name, first, why } of await sameClusters(contexts, options)) {
    environment.log.warn(
      `contexts ${first} and ${name} are the same cluster, so each endpoint is counted ` +
        "twice: give only one of them",
      { why },
    );
  }
}
