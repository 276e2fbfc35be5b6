// The flags of `lockstep ingress` about status and its leader, and what they mean for this process:
// who it is to other replicas depends on whether it runs as a pod of the cluster it leads in.
import { type Command, InvalidArgumentError } from "commander";
import {
  isLoadBalancerAddress,
  loadBalancerAddress,
} from "../../decide/status/load-balancer-address.ts";
import type { Environment } from "../../environment/environment.ts";
import type { LeadershipSettings, PublishSettings } from "../../ingress/leadership.ts";
import { outsideIdentity, podIdentity } from "../../kube/leader/leader-identity.ts";
import type { LockReference } from "../../kube/leader/lease-record.ts";

export interface LeadershipFlags {
  readonly publishAddress: readonly string[];
  readonly lease?: PublishSettings["lease"];
  readonly deposeGhosts: boolean;
  readonly watchLock: readonly LockReference[];
}

export const leadershipHelp = `
With --publish-address one replica at a time, the holder of a Lease, writes that address into the
status of every Ingress of the class, at once when one appears or is wrong. Losing the Lease writes
nothing. /state says who leads and since when. In a pod give it POD_NAME, POD_NAMESPACE and POD_UID
by the downward API: then anyone can check that the holder exists.

A ghost is a holder whose pod does not exist and that renews its lock all the same, from a machine
that was taken out of the cluster. It is logged and shown in /state; for other people's locks too,
with --watch-lock. With --depose-ghosts a replica takes Lockstep's own Lease from a ghost.`;

export function addLeadershipFlags(command: Command): Command {
  return command
    .option(
      "--publish-address <address>",
      "write this IP or host name into the Ingresses' status; repeatable",
      publishAddress,
      [],
    )
    .option(
      "--lease <namespace/name>",
      "the Lease of the leader; lockstep-ingress-<class> in the pod's own namespace if absent",
      leaseName,
    )
    .option("--depose-ghosts", "take the Lease from a holder that provably does not exist", false)
    .option(
      "--watch-lock <kind/namespace/name>",
      "name ghosts on this lock too: lease, configmap or endpoints; repeatable",
      watchedLock,
      [],
    );
}

export function leadershipOf(
  { processes, random }: Pick<Environment, "processes" | "random">,
  flags: LeadershipFlags,
  options: { readonly className: string; readonly isOwnCluster: boolean },
): LeadershipSettings {
  const { publishAddress, deposeGhosts, watchLock: watchedLocks } = flags;
  if (publishAddress.length === 0) return { watchedLocks };
  const variable = (name: string): string | undefined => processes.variables[name] || undefined;
  // A pod of another cluster would look like a ghost to whoever looks for it in this one, and its
  // namespace means nothing here.
  const { isOwnCluster } = options;
  const ownNamespace = isOwnCluster ? variable("POD_NAMESPACE") : undefined;
  const [podName, podUid] = [variable("POD_NAME"), variable("POD_UID")];
  const isPod = isOwnCluster && podName !== undefined && podUid !== undefined;
  const identity = isPod
    ? podIdentity(podName, podUid)
    : outsideIdentity(variable("HOSTNAME") ?? "somewhere", random.uuid());
  const name = `lockstep-ingress-${options.className}`;
  const lease = flags.lease ?? { namespace: ownNamespace ?? "default", name };
  // Replicas of other namespaces may compete for a Lease that was named.
  const podNamespace = flags.lease === undefined ? ownNamespace : undefined;
  const addresses = publishAddress.map(loadBalancerAddress);
  return { publish: { addresses, lease, identity, podNamespace, deposeGhosts }, watchedLocks };
}

function publishAddress(text: string, known: readonly string[]): readonly string[] {
  if (isLoadBalancerAddress(text)) return [...known, text];
  throw new InvalidArgumentError("It must be an IP address or a host name in lower case.");
}

function leaseName(text: string): PublishSettings["lease"] {
  const [namespace, name, ...rest] = text.split("/");
  if (namespace && name && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError("It must be namespace/name.");
}

const lockKinds: ReadonlyMap<string, LockReference["kind"]> = new Map([
  ["lease", "Lease"],
  ["configmap", "ConfigMap"],
  ["endpoints", "Endpoints"],
]);

function watchedLock(text: string, known: readonly LockReference[]): readonly LockReference[] {
  const [kindText = "", namespace, name, ...rest] = text.split("/");
  const kind = lockKinds.get(kindText.toLowerCase());
  if (kind !== undefined && namespace && name && rest.length === 0) {
    return [...known, { kind, namespace, name }];
  }
  throw new InvalidArgumentError(
    "It must be kind/namespace/name, with lease, configmap or endpoints as its kind.",
  );
}
