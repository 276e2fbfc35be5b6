// The one cluster that `lockstep assist` and its subcommands work on: the given context, in a pod its
// own cluster, else the current context.
import { resolve as absolute } from "node:path";
import type { Environment } from "../../../environment/environment.ts";
import { HttpKubeClient, type HttpKubeClientOptions } from "../../../kube/client/http-client.ts";
import { type ClusterAccess, CredentialsError } from "../../../kube/credentials/credentials.ts";
import { inClusterAccess, isInCluster } from "../../../kube/credentials/credentials-in-cluster.ts";
import { kubeconfigAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import type { ClusterFlags } from "./command.ts";

export interface AssistCluster {
  readonly access: ClusterAccess;
  /** This process is a pod of it. */
  readonly isOwn: boolean;
}

const userAgent = "lockstep-assist";

export function assistCluster(
  environment: Environment,
  { context, kubeconfig }: ClusterFlags,
): Promise<AssistCluster> {
  return asUsage([CredentialsError], async () => {
    const isAsked = context !== undefined || kubeconfig !== undefined;
    if (!isAsked && isInCluster(environment.processes)) {
      return { access: inClusterAccess(environment), isOwn: true };
    }
    const [access] = await kubeconfigAccess({
      ...environment,
      path: kubeconfig === undefined ? undefined : absolute(kubeconfig),
      contexts: context === undefined ? "current" : [context],
    });
    if (access === undefined) throw new UsageError("the kubeconfig has no current context");
    return { access, isOwn: false };
  });
}

export function clientOf(
  environment: Environment,
  { access }: AssistCluster,
  onForbidden?: HttpKubeClientOptions["onForbidden"],
): HttpKubeClient {
  return new HttpKubeClient({ ...environment, cluster: access, userAgent, onForbidden });
}
