// A name that was asked for and that no cluster has was probably misspelt: without a word about it
// the view would stay empty, and look calm. Only said once everything has been listed. Pure.
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { ServiceBounds } from "../../../observe/service-filter.ts";

export interface AskedNames extends ServiceBounds {
  readonly clusters: readonly ClusterStatus[];
  readonly isService: (service: string) => boolean;
}

export function absentNames({
  clusters,
  namespaces = [],
  services = [],
  isService,
}: AskedNames): readonly string[] {
  const watches = clusters.flatMap((one) => one.watches);
  const lists = watches.filter(({ resource }) => resource === "services");
  if (lists.length === 0 || clusters.some(({ state }) => state.type !== "watching")) return [];
  if (lists.some(({ listed }) => !listed)) return [];
  const isEmpty = (namespace: string): boolean =>
    lists.every((one) => one.namespace !== namespace || one.objects === 0);
  return [
    ...namespaces
      .filter(isEmpty)
      .map(
        (name) =>
          `no cluster has a service in the namespace ${name} at the moment. Check the name.`,
      ),
    ...services
      .filter((name) => !isService(name))
      .map((name) => `no cluster has a service ${name} at the moment. Check the name.`),
  ];
}
