// What the settings about status and its leader mean for this process: who it is to other replicas
// depends on whether it runs as a pod of the cluster it leads in.
import { loadBalancerAddress } from "../../decide/status/load-balancer-address.ts";
import type { Environment } from "../../environment/environment.ts";
import type { LeadershipSettings } from "../../ingress/leadership.ts";
import { outsideIdentity, podIdentity } from "../../kube/leader/leader-identity.ts";
import type { IngressConfig } from "./ingress-settings.ts";

export const leadershipHelp = `
With --publish-address one replica at a time, the holder of a Lease, writes that address into the
status of every Ingress of the class, at once when one appears or is wrong. Losing the Lease writes
nothing. /state says who leads and since when. In a pod give it POD_NAME, POD_NAMESPACE and POD_UID
by the downward API: then anyone can check that the holder exists.

A ghost is a holder whose pod does not exist and that renews its lock all the same, from a machine
that was taken out of the cluster. It is logged and shown in /state; for other people's locks too,
with --watch-lock. With --depose-ghosts a replica takes Lockstep's own Lease from a ghost. A replica
that finds itself to be the ghost gives the Lease up.`;

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
