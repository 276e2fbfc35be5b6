// The clusters that `lockstep sync` was asked to connect: each a context of the kubeconfig, under a
// name that can become part of object names.
import { resolve as absolute } from "node:path";
import { isClusterName } from "../../../decide/syncing/synced-names.ts";
import type { Environment } from "../../../environment/environment.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { CredentialsError } from "../../../kube/credentials/credentials.ts";
import { contextAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { readKubeconfig } from "../../../kube/credentials/credentials-kubeconfig-file.ts";
import type { ClusterClient } from "../../../outputs/slices/sync-view.ts";
import { UsageError } from "../../command.ts";

export interface SyncClusters {
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient & { readonly server: string };
}

export interface AskedClusters {
  /** Each a context, or `name=context`. */
  readonly from: readonly string[];
  readonly to: string;
  readonly kubeconfig?: string;
}

export async function connectClusters(
  environment: Environment,
  { from, to, kubeconfig }: AskedClusters,
): Promise<SyncClusters> {
  const sources = from.map(parseCluster);
  const target = parseCluster(to);
  refuseDuplicates([...sources, target]);
  const path = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  try {
    const read = await readKubeconfig({ ...environment, path });
    const connect = ({ name, context }: NamedContext) => {
      const cluster = contextAccess(read, context, environment);
      const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep-sync" });
      return { cluster: name, client, server: cluster.server };
    };
    return { sources: sources.map(connect), target: connect(target) };
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

interface NamedContext {
  readonly name: string;
  readonly context: string;
}

function parseCluster(text: string): NamedContext {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const context = equals === -1 ? text : text.slice(equals + 1);
  if (isClusterName(name) && context !== "") return { name, context };
  throw new UsageError(
    `"${name}" cannot be part of an object name: use lower-case letters, digits and dashes, at most 63.\n` +
      `Give the context another name, for example: shop=${context || "CONTEXT"}`,
  );
}

function refuseDuplicates(named: readonly NamedContext[]): void {
  for (const [index, { name, context }] of named.entries()) {
    const same = named
      .slice(0, index)
      .find((other) => other.name === name || other.context === context);
    if (same === undefined) continue;
    const what = same.name === name ? name : `the context ${context}`;
    throw new UsageError(`--from and --to must be different clusters; ${what} is given twice.`);
  }
}
