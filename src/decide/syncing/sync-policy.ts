// The services that are synced. The owner of a service can decide with a label on it; for the rest
// the operator names namespaces.
import type { Service } from "../../kube/kinds/service.ts";
import { isOwned, syncLabel } from "./synced-names.ts";

export interface SyncPolicy {
  /** Where every service with a selector is synced, unless its label says no. */
  readonly namespaces: "all" | ReadonlySet<string>;
  /**
   * Those of `namespaces` in which no business cluster has shown a service yet: each may be a name
   * that is misspelt. None when absent.
   */
  readonly unseenNamespaces?: ReadonlySet<string>;
  /** Whether a namespace that the access cluster lacks may be made there. */
  readonly createNamespaces: boolean;
  /**
   * Clusters whose copies are removed, because they are synced no longer; none when absent. That a
   * cluster is not among the sources is not enough: another Lockstep may sync it.
   */
  readonly forgottenClusters?: ReadonlySet<string>;
}

export function isSelected(service: Service, policy: SyncPolicy): boolean {
  // Objects made by Lockstep are copies already. Copying them would send endpoints in circles.
  if (isOwned(service) || service.type === "ExternalName") return false;
  const wish = service.metadata.labels[syncLabel];
  if (wish === "true") return true;
  if (wish === "false" || service.selector === undefined) return false;
  return policy.namespaces === "all" || policy.namespaces.has(service.metadata.namespace);
}

/** Not selected, but it would be if one of the unseen namespaces were meant to be its own. */
export function isDoubtfullyUnselected(service: Service, policy: SyncPolicy): boolean {
  if ((policy.unseenNamespaces?.size ?? 0) === 0 || isSelected(service, policy)) return false;
  return isSelected(service, { ...policy, namespaces: "all" });
}
