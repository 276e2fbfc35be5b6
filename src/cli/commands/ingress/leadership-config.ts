// What the settings about status and its leader mean for this process: who it is to other replicas
// depends on whether it runs as a pod of the cluster it leads in.
import { loadBalancerAddress } from "../../../decide/status/load-balancer-address.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { LeadershipSettings } from "../../../ingress/leadership.ts";
import { outsideIdentity, podIdentity } from "../../../kube/leader/leader-identity.ts";
import type { IngressConfig } from "./ingress-settings.ts";

export const leadershipHelp = `
With --publish-address the leader writes that address into the status of every Ingress of the class.
The leader is the replica that holds the Lease. A replica that loses the Lease writes nothing more.
/state shows the leader and since when. In a pod set POD_NAME, POD_NAMESPACE and POD_UID with the
downward API, so that other replicas can check that the leader exists.

A ghost is a leader whose pod no longer exists but still renews its lock, for example on a machine
that was removed from the cluster. Ghosts are logged and shown in /state, with --watch-lock also for
locks of other programs. With --depose-ghosts a replica takes Lockstep's own Lease from a ghost. A
replica that detects that it is the ghost gives up the Lease.`;

export function leadershipOf(
  { processes, random }: Pick<Environment, "processes" | "random">,
  config: IngressConfig["leadership"],
  options: { readonly className: string; readonly isOwnCluster: boolean },
): LeadershipSettings {
  const { publishAddresses, deposeGhosts, watchLocks: watchedLocks } = config;
  if (publishAddresses.length === 0) return { watchedLocks };
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
  const lease = config.lease ?? { namespace: ownNamespace ?? "default", name };
  // Replicas of other namespaces may compete for a Lease that was named.
  const podNamespace = config.lease === undefined ? ownNamespace : undefined;
  const addresses = publishAddresses.map(loadBalancerAddress);
  return { publish: { addresses, lease, identity, podNamespace, deposeGhosts }, watchedLocks };
}
