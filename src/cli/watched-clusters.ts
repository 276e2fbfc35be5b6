// The clusters that `lockstep watch`, `record` and `doctor` read: the given contexts, all of them,
// the current one, or in a pod its own cluster. With --all-contexts an unusable context is skipped
// and reported.
import { resolve as absolute } from "node:path";
import { nearestNames } from "../decide/nearest-names.ts";
import { visible } from "../decide/routing/shown-text.ts";
import type { Environment } from "../environment/environment.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { type ClusterAccess, CredentialsError } from "../kube/credentials/credentials.ts";
import { inClusterAccess, isInCluster } from "../kube/credentials/credentials-in-cluster.ts";
import { contextAccess, kubeconfigAccess } from "../kube/credentials/credentials-kubeconfig.ts";
import {
  type Kubeconfig,
  readKubeconfig,
} from "../kube/credentials/credentials-kubeconfig-file.ts";
import type { ObservedCluster } from "../observe/observer.ts";
import { UsageError } from "./command.ts";
import { refuseBoth } from "./flags.ts";
import { countedTwiceText, leftOutText, type NamedAccess, sameClusters } from "./same-clusters.ts";

interface AskedContexts {
  readonly kubeconfig: string | undefined;
  /** Each is a context or `name=context`. */
  readonly contexts: readonly string[];
  readonly allContexts: boolean;
  /** Clusters with copies; empty: every cluster. */
  readonly accessContexts: readonly string[];
  /** `lockstep-watch` unless given. */
  readonly userAgent?: string;
}

export interface WatchedClusters {
  readonly clusters: readonly ObservedCluster[];
  readonly accessClusters: readonly ObservedCluster[];
  /** The address of each cluster's API server, by the cluster's name. */
  readonly servers: ReadonlyMap<string, string>;
  /** The address and credentials of each, by its name. */
  readonly accesses: ReadonlyMap<string, ClusterAccess>;
  /** One sentence for each context that is skipped or names a cluster twice. */
  readonly leftOut: readonly string[];
}

const defaultUserAgent = "lockstep-watch";

export async function watchedClusters(
  environment: Environment,
  asked: AskedContexts,
  stop: AbortSignal,
): Promise<WatchedClusters> {
  const { contexts, allContexts, accessContexts, userAgent = defaultUserAgent } = asked;
  refuseBoth({ "--all-contexts": allContexts, "--context": contexts.length > 0 });
  const leftOut: string[] = [];
  const found = allContexts
    ? await everyContext(environment, asked, leftOut)
    : await namedContexts(environment, asked, contexts);
  const same = await sameClusters(found, { ...environment, userAgent, signal: stop });
  leftOut.push(...same.map(allContexts ? leftOutText : countedTwiceText));
  const isAgain = ({ name }: NamedAccess) => allContexts && same.some((one) => one.name === name);
  const watched = found.filter((one) => !isAgain(one));
  const access = await namedContexts(environment, asked, accessContexts);
  const clients = new Map<string, ObservedCluster>();
  const observed = ({ name, access: cluster }: NamedAccess): ObservedCluster => {
    const client = new HttpKubeClient({ ...environment, cluster, userAgent });
    const known = clients.get(name) ?? { cluster: name, client };
    clients.set(name, known);
    return known;
  };
  const clusters = watched.map(observed);
  const copies = accessContexts.length === 0 ? clusters : access.map(observed);
  const accesses = new Map([...watched, ...access].map((one) => [one.name, one.access]));
  const servers = new Map([...accesses].map(([name, { server }]) => [name, server]));
  return { clusters, accessClusters: copies, servers, accesses, leftOut };
}

/** Without names: the cluster of this pod, or the current context; none for --access-context. */
async function namedContexts(
  environment: Environment,
  { kubeconfig, contexts }: AskedContexts,
  names: readonly string[],
): Promise<readonly NamedAccess[]> {
  if (names.length === 0 && names !== contexts) return [];
  if (names.length === 0 && kubeconfig === undefined && isInCluster(environment.processes)) {
    const access = inClusterAccess(environment);
    return [{ name: access.name, access }];
  }
  const named = names.map(parseName);
  refuseTwice(named.map(({ name }) => name));
  const path = pathOf(kubeconfig);
  if (named.length === 0) {
    const accesses = await kubeconfigAccess({ ...environment, path, contexts: "current" });
    return accesses.map((access) => ({ name: access.name, access }));
  }
  const read = await readKubeconfig({ ...environment, path });
  return named.map(({ name, context }) => {
    refuseUnknown(read, context);
    return { name, access: contextAccess(read, context, environment) };
  });
}

/** Contexts with several users of one server are one cluster; only the first is watched. */
async function everyContext(
  environment: Environment,
  { kubeconfig }: AskedContexts,
  leftOut: string[],
): Promise<readonly NamedAccess[]> {
  const read = await readKubeconfig({ ...environment, path: pathOf(kubeconfig) });
  const byServer = new Map<string, NamedAccess>();
  for (const name of read.contexts.keys()) {
    try {
      const access = contextAccess(read, name, environment);
      const same = byServer.get(access.server);
      if (same === undefined) byServer.set(access.server, { name, access });
      else leftOut.push(`context ${name} is skipped: it is the same server as ${same.name}`);
    } catch (error) {
      if (!(error instanceof CredentialsError)) throw error;
      leftOut.push(`context ${name} is skipped: ${error.message}`);
    }
  }
  if (byServer.size > 0) return [...byServer.values()];
  throw new UsageError(["no context can be watched", ...leftOut].join("\n  "));
}

/** A longer list is cut. */
const namesMost = 10;

/** Suggests similar names, because a kubeconfig may have dozens of contexts. */
function refuseUnknown({ contexts, paths }: Kubeconfig, wanted: string): void {
  if (contexts.has(wanted)) return;
  const names = [...contexts.keys()];
  const near = nearestNames(wanted, names);
  const listed = near.length > 0 ? near : names.slice(0, namesMost);
  const rest = names.length - listed.length;
  throw new UsageError(
    `the kubeconfig ${visible(paths.join(":"))} has no context "${visible(wanted)}"; ` +
      `${near.length > 0 ? "similar" : "available"}: ${listed.map(visible).join(", ") || "none"}` +
      (rest > 0 ? ` (and ${rest} more: kubectl config get-contexts)` : ""),
  );
}

function parseName(text: string): { readonly name: string; readonly context: string } {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const context = equals === -1 ? text : text.slice(equals + 1);
  if (name !== "" && context !== "") return { name, context };
  throw new UsageError(`"${text}" is not a context: give a context, or name=context.`);
}

function refuseTwice(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is given twice: remove one.`);
}

function pathOf(kubeconfig: string | undefined): string | undefined {
  return kubeconfig === undefined ? undefined : absolute(kubeconfig);
}
