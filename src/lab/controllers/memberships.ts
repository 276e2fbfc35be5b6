// Which pods a service selects, which services a change of a pod concerns, and which port of a pod
// a service's port means. The Endpoints and the EndpointSlice controller share these rules.
import { objectKey } from "../../kube/kinds/kind.ts";
import { type Pod, podIPs } from "../../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import type { ReadonlyStore } from "../../kube/store/store.ts";
import type { Change } from "../../kube/store/store-change.ts";
import type { PodUpdates } from "../versions/profile.ts";
import { selectorKey } from "./informers.ts";
import { isReady, type OwnedPod } from "./owned-pod.ts";

export type ServiceStore = ReadonlyStore<Service, "selector">;
export type PodStore = ReadonlyStore<OwnedPod, "label" | "owner" | "node">;

export function podsOf(service: Service, pods: PodStore): readonly OwnedPod[] {
  const index = selectorKey(service);
  if (index === undefined) return [];
  return [...pods.byIndex("label", index)].filter((pod) => selects(service, pod));
}

/** The keys of the services to sync after this change, as `GetServicesToUpdateOnPodChange` does. */
export function servicesConcerned(
  change: Change<OwnedPod>,
  services: ServiceStore,
  podUpdates: PodUpdates,
): Iterable<string> {
  if (change.type !== "updated") return servicesSelecting(change.object, services);
  const { object, previous } = change;
  // A resync hands over what is known already.
  if (object.metadata.resourceVersion === previous.metadata.resourceVersion) return [];
  const haveLabelsChanged = identityChanged(previous, object);
  const hasPodChanged = podUpdates === "any" || endpointChanged(previous, object, podUpdates);
  if (!haveLabelsChanged && !hasPodChanged) return [];
  const after = servicesSelecting(object, services);
  if (!haveLabelsChanged) return after;
  const before = servicesSelecting(previous, services);
  const either = new Set([...before, ...after]);
  // When only the labels changed, services that select both versions see no difference.
  return hasPodChanged ? either : [...either].filter((key) => before.has(key) !== after.has(key));
}

/** The number of the pod's port, or undefined when it has none of that name and protocol. */
export function findPort(
  pod: OwnedPod,
  { targetPort, protocol }: ServicePort,
  { sidecars }: { readonly sidecars: boolean },
): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  const ports = sidecars ? [...pod.ports, ...pod.sidecarPorts] : pod.ports;
  return ports.find((port) => port.name === targetPort && port.protocol === protocol)
    ?.containerPort;
}

/** Set for pods that a headless service gives a name in DNS. */
export function hostnameFor(pod: Pod, service: Service): string | undefined {
  const { hostname = "", subdomain } = pod;
  return hostname !== "" && subdomain === service.metadata.name ? hostname : undefined;
}

export function ipFamilyOf(address: string): "IPv4" | "IPv6" {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function servicesSelecting(pod: OwnedPod, services: ServiceStore): ReadonlySet<string> {
  const { namespace, labels } = pod.metadata;
  const keys = new Set<string>();
  const pairs = Object.entries(labels).map((pair) => pair.join("="));
  for (const pair of ["*", ...pairs]) {
    for (const service of services.byIndex("selector", `${namespace}/${pair}`)) {
      if (selects(service, pod)) keys.add(objectKey(service.metadata));
    }
  }
  return keys;
}

function selects({ metadata, selector }: Service, pod: Pod): boolean {
  if (selector === undefined || metadata.namespace !== pod.metadata.namespace) return false;
  const { labels } = pod.metadata;
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

/**
 * Kubernetes compares the pointers of the two deletion timestamps, so any update of a pod that is
 * on its way out counts.
 */
function endpointChanged(before: Pod, after: Pod, podUpdates: PodUpdates): boolean {
  return (
    before.metadata.deletionTimestamp !== undefined ||
    after.metadata.deletionTimestamp !== undefined ||
    isReady(before) !== isReady(after) ||
    (podUpdates === "address-or-node" && before.nodeName !== after.nodeName) ||
    podIPs(before).join() !== podIPs(after).join()
  );
}

function identityChanged(before: Pod, after: Pod): boolean {
  return (
    !sameStrings(before.metadata.labels, after.metadata.labels) ||
    before.hostname !== after.hostname ||
    before.subdomain !== after.subdomain
  );
}

export function sameStrings(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
  );
}
