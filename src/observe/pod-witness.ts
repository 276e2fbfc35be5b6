// The witness at `pod`: which endpoints a cluster's pods make true, by the pods and services
// themselves, whatever has been published. It keeps the endpoints of each pod and reports how they
// differ after every change; a service that comes after its pods is then no special case.
import type { MonotonicMs } from "../environment/clock.ts";
import { objectKey, splitObjectKey } from "../kube/kinds/kind.ts";
import type { Pod } from "../kube/kinds/pod.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import { podEndpoints, podState } from "../model/pod-endpoint.ts";
import { ServicePods, type ServiceStore, selects } from "../sources/service-pods.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { Direction, Witness, WitnessedEndpoint } from "../timeline/witness.ts";
import { type NodeView, type PodCause, podCause } from "./pod-cause.ts";

export interface PodWitnessOptions {
  readonly cluster: string;
  readonly sink: ObservationSink;
  readonly services: ServiceStore;
  readonly pods: ReadonlyStore<Pod>;
  /** Endpoints hold addresses of one family only. */
  readonly families: "first" | "all";
  /** With nodes, the cause of a pod that left can be its node. */
  readonly nodes?: NodeView;
}

/** How the change that is being delivered was learnt. */
export interface Learnt {
  /** When it was delivered: one instant for all that follows from it, also when it is replayed. */
  readonly at: MonotonicMs;
  /** It belongs to the first list: it shows what is, and not what changed. */
  readonly baseline: boolean;
  /** It happened after this; undefined when the watch shows it as it happens. */
  readonly notBefore: MonotonicMs | undefined;
}

/** A pod has few, so a list is smaller than a map and as fast. */
type PodEndpoints = readonly WitnessedEndpoint[];

const none: PodEndpoints = [];

/** Why endpoints of a pod joined or left. */
type CauseOf = (direction: Direction) => PodCause;

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
    for (const service of services) {
      if (!hasPods(service)) continue;
      sink.follow(this.#witness, { cluster, service: objectKey(service.metadata) });
    }
  }

  podChanged(change: Change<Pod>, learnt: Learnt): void {
    if (change.type === "updated" && isSameToServices(change.previous, change.object)) return;
    const pod = change.object;
    const concerned = [...this.#servicePods.podChanged(change)];
    const isDeleted = change.type === "deleted";
    const after = isDeleted ? none : concerned.flatMap((key) => this.#endpointsOf(pod, key));
    const causeOf = (direction: Direction) => podCause(change, direction, this.#options.nodes);
    this.#replace(pod, this.#endpointsKnown(pod), after, causeOf, learnt);
  }

  serviceChanged(change: Change<Service>, learnt: Learnt): void {
    const service = change.object;
    const concerned = new Map<string, Pod>();
    const note = (one: Service): void => {
      for (const pod of this.#servicePods.podsOf(one)) concerned.set(pod.metadata.uid, pod);
    };
    note(change.type === "updated" ? change.previous : service);
    this.#servicePods.serviceChanged(change);
    note(service);
    const key = objectKey(service.metadata);
    const ref = { cluster: this.#options.cluster, service: key };
    const isFollowed = change.type !== "deleted" && hasPods(service);
    if (isFollowed && this.#hasBegun) this.#options.sink.follow(this.#witness, ref);
    const causeOf = () => ({ cause: serviceCauses[change.type] });
    for (const pod of concerned.values()) {
      const before = this.#endpointsKnown(pod).filter((endpoint) => endpoint.service === key);
      const after = this.#endpointsOf(pod, key);
      this.#replace(pod, before, after, causeOf, learnt);
    }
    if (isFollowed) return;
    const isGone = change.type === "deleted";
    this.#options.sink.unfollow(this.#witness, { ...ref, ...(isGone && { isGone }) });
  }

  #endpointsKnown(pod: Pod): PodEndpoints {
    return this.#known.get(pod.metadata.uid) ?? none;
  }

  /** Takes some of the pod's endpoints out, puts others in, and reports the difference. */
  #replace(
    pod: Pod,
    before: PodEndpoints,
    after: PodEndpoints,
    causeOf: CauseOf,
    learnt: Learnt,
  ): void {
    const left = before.filter((endpoint) => !after.some((one) => isSameEndpoint(one, endpoint)));
    const known = this.#endpointsKnown(pod).filter((endpoint) => !left.includes(endpoint));
    const joined = after.filter((endpoint) => !known.some((one) => isSameEndpoint(one, endpoint)));
    if (left.length === 0 && joined.length === 0) return;
    const endpoints = [...known, ...joined];
    if (endpoints.length > 0) this.#known.set(pod.metadata.uid, endpoints);
    else this.#known.delete(pod.metadata.uid);
    for (const endpoint of left) this.#report(pod, endpoint, "leave", causeOf, learnt);
    for (const endpoint of joined) this.#report(pod, endpoint, "join", causeOf, learnt);
  }

  #endpointsOf(pod: Pod, serviceKey: string): PodEndpoints {
    const { cluster, families, services } = this.#options;
    const { namespace, name } = splitObjectKey(serviceKey);
    const service = services.get(namespace, name);
    if (service === undefined || !isIn(pod, service)) return none;
    const podUid = pod.metadata.uid;
    const endpoints = podEndpoints(pod, service);
    const [first] = endpoints;
    const isOne = (address: string) => families === "all" || address === first?.address;
    return endpoints
      .filter(({ address }) => isOne(address))
      .map(({ address, port }) => ({ cluster, service: serviceKey, address, port, podUid }));
  }

  #report(
    pod: Pod,
    endpoint: WitnessedEndpoint,
    direction: Direction,
    causeOf: CauseOf,
    { at, baseline, notBefore }: Learnt,
  ): void {
    this.#options.sink.report({
      witness: this.#witness,
      endpoint,
      direction,
      at,
      ...causeOf(direction),
      podName: pod.metadata.name,
      ...(notBefore !== undefined && { notBefore }),
      ...(baseline && { baseline }),
    });
  }
}

const serviceCauses: Readonly<Record<Change<Service>["type"], string>> = {
  added: "service added",
  updated: "service changed",
  deleted: "service deleted",
};

/** Whether pods make its endpoints; otherwise another controller writes them, or there are none. */
function hasPods({ selector, type }: Service): boolean {
  return selector !== undefined && type !== "ExternalName";
}

/** The rule of the endpoint controllers since 1.25. */
function isIn(pod: Pod, service: Service): boolean {
  if (!hasPods(service) || !selects(service.selector, pod.metadata.labels)) return false;
  const state = podState(pod);
  return state === "ready" || (service.publishNotReadyAddresses && state !== "ended");
}

/** Most versions of a pod differ in what no service looks at. */
function isSameToServices(a: Pod, b: Pod): boolean {
  return (
    a.metadata.labels === b.metadata.labels &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    a.ready === b.ready &&
    a.phase === b.phase &&
    a.podIP === b.podIP &&
    a.secondPodIP === b.secondPodIP &&
    a.ports === b.ports
  );
}

function isSameEndpoint(a: WitnessedEndpoint, b: WitnessedEndpoint): boolean {
  return a.port === b.port && a.address === b.address && a.service === b.service;
}
