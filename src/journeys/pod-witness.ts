// The witness at `pod`: which endpoints a cluster's pods make true, by the pods and services
// themselves, whatever has been published. It keeps the endpoints of each pod and reports how they
// differ after every change; a service that comes after its pods is then no special case.
import type { Clock, MonotonicMs } from "../environment/clock.ts";
import { objectKey, splitObjectKey } from "../kube/kinds/kind.ts";
import { type Pod, podIPs } from "../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../kube/kinds/service.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change, LearntBy } from "../kube/store/store-change.ts";
import { ServicePods, type ServiceStore, selects } from "../sources/service-pods.ts";
import { endpointKey, type Witness, type WitnessedEndpoint, type WitnessSink } from "./witness.ts";

export interface PodWitnessOptions {
  readonly cluster: string;
  readonly clock: Clock;
  readonly sink: WitnessSink;
  readonly services: ServiceStore;
  readonly pods: ReadonlyStore<Pod>;
  /** Endpoints hold addresses of one family only. */
  readonly families: "first" | "all";
}

/** How the change that is being delivered was learnt. */
export interface Learnt {
  readonly by: LearntBy;
  /** It belongs to the first list: it shows what is, and not what changed. */
  readonly baseline: boolean;
  /** The latest instant at which the watch was known to be current before a list. */
  readonly notBefore: MonotonicMs | undefined;
}

type PodEndpoints = ReadonlyMap<string, WitnessedEndpoint>;

const none: PodEndpoints = new Map();

export class PodWitness {
  readonly #options: PodWitnessOptions;
  readonly #witness: Witness;
  readonly #servicePods: ServicePods;
  /** By the pod's uid; pods without endpoints are not in it. */
  readonly #known = new Map<string, PodEndpoints>();

  #hasBegun = false;

  constructor(options: PodWitnessOptions) {
    this.#options = options;
    this.#witness = { hop: "pod", name: options.cluster };
    this.#servicePods = new ServicePods(options);
  }

  /**
   * The pods have been listed, so from now on this witness can be waited for. Where the list is
   * refused that never happens, and the hop stays unknown.
   */
  begin(): void {
    this.#hasBegun = true;
    const { cluster, services, sink } = this.#options;
    for (const { metadata, selector } of services) {
      if (selector === undefined) continue;
      sink.follow(this.#witness, { cluster, service: objectKey(metadata) });
    }
  }

  podChanged(change: Change<Pod>, learnt: Learnt): void {
    const pod = change.object;
    const concerned = [...this.#servicePods.podChanged(change)];
    const isDeleted = change.type === "deleted";
    const after = isDeleted ? [] : concerned.flatMap((key) => this.#endpointsOf(pod, key));
    const before = this.#known.get(pod.metadata.uid) ?? none;
    this.#replace(pod, [...before.values()], after, isDeleted ? "deleted" : causeOf(pod), learnt);
  }

  serviceChanged(change: Change<Service>, learnt: Learnt): void {
    this.#servicePods.serviceChanged(change);
    const service = change.object;
    const key = objectKey(service.metadata);
    const ref = { cluster: this.#options.cluster, service: key };
    const isFollowed = change.type !== "deleted" && service.selector !== undefined;
    if (isFollowed && this.#hasBegun) this.#options.sink.follow(this.#witness, ref);
    for (const pod of this.#options.pods.inNamespace(service.metadata.namespace)) {
      const known = [...(this.#known.get(pod.metadata.uid)?.values() ?? [])];
      const before = known.filter((endpoint) => endpoint.service === key);
      this.#replace(pod, before, this.#endpointsOf(pod, key), "service changed", learnt);
    }
    if (!isFollowed) this.#options.sink.unfollow(this.#witness, ref);
  }

  /** Takes some of the pod's endpoints out, puts others in, and reports the difference. */
  #replace(
    pod: Pod,
    before: readonly WitnessedEndpoint[],
    after: readonly WitnessedEndpoint[],
    cause: string,
    learnt: Learnt,
  ): void {
    const { uid } = pod.metadata;
    const endpoints = new Map(this.#known.get(uid) ?? none);
    const kept = new Set(after.map(endpointKey));
    for (const endpoint of before) {
      if (kept.has(endpointKey(endpoint))) continue;
      endpoints.delete(endpointKey(endpoint));
      this.#report(pod, endpoint, "leave", cause, learnt);
    }
    for (const endpoint of after) {
      const key = endpointKey(endpoint);
      if (endpoints.has(key)) continue;
      endpoints.set(key, endpoint);
      this.#report(pod, endpoint, "join", cause, learnt);
    }
    if (endpoints.size > 0) this.#known.set(uid, endpoints);
    else this.#known.delete(uid);
  }

  #endpointsOf(pod: Pod, serviceKey: string): readonly WitnessedEndpoint[] {
    const { cluster, families, services } = this.#options;
    const { namespace, name } = splitObjectKey(serviceKey);
    const service = services.get(namespace, name);
    if (service === undefined || !isIn(pod, service)) return [];
    const of = { cluster, service: serviceKey, podUid: pod.metadata.uid };
    const addresses = addressesOf(pod, service);
    return (families === "first" ? addresses.slice(0, 1) : addresses).flatMap((address) =>
      portsOf(pod, service).map((port) => ({ ...of, address, port })),
    );
  }

  #report(
    pod: Pod,
    endpoint: WitnessedEndpoint,
    direction: "join" | "leave",
    cause: string,
    { by, baseline, notBefore }: Learnt,
  ): void {
    this.#options.sink.report({
      witness: this.#witness,
      endpoint,
      direction,
      at: this.#options.clock.monotonicMs(),
      cause,
      podName: pod.metadata.name,
      ...(by === "list" && notBefore !== undefined && { notBefore }),
      ...(baseline && { baseline }),
    });
  }
}

/** The rule of the endpoint controllers since 1.25. */
function isIn(pod: Pod, service: Service): boolean {
  if (!selects(service.selector, pod.metadata.labels)) return false;
  if (pod.phase === "Succeeded" || pod.phase === "Failed") return false;
  if (service.publishNotReadyAddresses) return true;
  return pod.ready === "True" && pod.metadata.deletionTimestamp === undefined;
}

function causeOf(pod: Pod): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "terminating";
  if (pod.phase === "Succeeded" || pod.phase === "Failed") return "ended";
  return pod.ready === "True" ? "ready" : "unready";
}

/** In the service's order of families; one family only where the service names none. */
function addressesOf(pod: Pod, { ipFamilies }: Service): readonly string[] {
  const ips = podIPs(pod);
  if (ipFamilies.length === 0) return ips.slice(0, 1);
  return ipFamilies.flatMap((family) => ips.filter((ip) => familyOf(ip) === family).slice(0, 1));
}

function familyOf(ip: string): string {
  return ip.includes(":") ? "IPv6" : "IPv4";
}

/** Each number once; a named port that the pod does not have is left out, as in what is published. */
function portsOf(pod: Pod, service: Service): readonly number[] {
  if (service.ports.length === 0) return [0];
  const numbers = service.ports.flatMap((port) => portNumber(pod, port) ?? []);
  return [...new Set(numbers)];
}

function portNumber(pod: Pod, { targetPort, protocol }: ServicePort): number | undefined {
  if (typeof targetPort === "number") return targetPort;
  return pod.ports.find((port) => port.name === targetPort && port.protocol === protocol)
    ?.containerPort;
}
