// The witness at `published` and at `synced`: which endpoints Endpoints or EndpointSlices list as
// ready, in the cluster itself or as a copy in an access cluster. An endpoint is listed as long as
// any object lists it, however a service's endpoints are split over them.
import type { Clock } from "../environment/clock.ts";
import { type EndpointSlice, serviceNameOf } from "../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../kube/kinds/endpoints.ts";
import { objectKey, type Projected } from "../kube/kinds/kind.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { TargetRef } from "../kube/kinds/target-ref.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { Learnt } from "./pod-witness.ts";
import {
  endpointKey,
  type ServiceRef,
  type Witness,
  type WitnessedEndpoint,
  type WitnessSink,
} from "./witness.ts";

export interface PublishedWitnessOptions {
  readonly witness: Witness;
  readonly clock: Clock;
  readonly sink: WitnessSink;
  /** The service whose endpoints an object lists; undefined for an object to pass over. */
  readonly serviceOf: (object: EndpointSlice | Endpoints) => ServiceRef | undefined;
}

/** For a cluster's own objects: the service that the object is named or labelled for. */
export function publishedServiceOf(
  cluster: string,
): (object: EndpointSlice | Endpoints) => ServiceRef | undefined {
  return (object) => {
    if (!("addressType" in object)) return { cluster, service: objectKey(object.metadata) };
    const name = serviceNameOf(object);
    const { namespace } = object.metadata;
    return name === undefined ? undefined : { cluster, service: `${namespace}/${name}` };
  };
}

type Listed = ReadonlyMap<string, WitnessedEndpoint>;

const nothing: Listed = new Map();

export class PublishedWitness {
  readonly #options: PublishedWitnessOptions;
  /** By uid of the object. */
  readonly #listed = new Map<string, Listed>();
  /** How many objects list an endpoint; never 0. */
  readonly #listings = new Map<string, number>();
  /** How many objects a service has, itself included where it is watched; never 0. */
  readonly #objects = new Map<string, number>();

  constructor(options: PublishedWitnessOptions) {
    this.#options = options;
  }

  /** A service is expected to be published before it has any object, and as long as it has one. */
  serviceChanged(change: Change<Service>, service: ServiceRef): void {
    if (change.type === "added") this.#follow(service);
    if (change.type === "deleted") this.#unfollow(service);
  }

  sliceChanged(change: Change<EndpointSlice>, learnt: Learnt): void {
    const service = this.#options.serviceOf(change.object);
    const endpoints = service === undefined ? [] : sliceEndpoints(change.object, service);
    this.#changed(change, service, endpoints, learnt);
  }

  endpointsChanged(change: Change<Endpoints>, learnt: Learnt): void {
    const service = this.#options.serviceOf(change.object);
    const endpoints = service === undefined ? [] : subsetEndpoints(change.object, service);
    this.#changed(change, service, endpoints, learnt);
  }

  #changed(
    change: Change<Projected>,
    service: ServiceRef | undefined,
    endpoints: readonly WitnessedEndpoint[],
    learnt: Learnt,
  ): void {
    const { uid } = change.object.metadata;
    const isKnown = this.#listed.has(uid);
    const isDeleted = change.type === "deleted";
    if (service !== undefined && !isKnown && !isDeleted) this.#follow(service);
    const before = this.#listed.get(uid) ?? nothing;
    const after: Listed = isDeleted
      ? nothing
      : new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
    if (isDeleted) this.#listed.delete(uid);
    else if (service !== undefined || isKnown) this.#listed.set(uid, after);
    for (const [key, endpoint] of before) {
      if (!after.has(key) && this.#count(key, -1) === 0) this.#report(endpoint, "leave", learnt);
    }
    for (const [key, endpoint] of after) {
      if (!before.has(key) && this.#count(key, 1) === 1) this.#report(endpoint, "join", learnt);
    }
    if (service !== undefined && isKnown && isDeleted) this.#unfollow(service);
  }

  #count(key: string, by: 1 | -1): number {
    const count = (this.#listings.get(key) ?? 0) + by;
    if (count === 0) this.#listings.delete(key);
    else this.#listings.set(key, count);
    return count;
  }

  #follow(service: ServiceRef): void {
    const key = serviceKey(service);
    const count = this.#objects.get(key) ?? 0;
    this.#objects.set(key, count + 1);
    if (count === 0) this.#options.sink.follow(this.#options.witness, service);
  }

  #unfollow(service: ServiceRef): void {
    const key = serviceKey(service);
    const count = this.#objects.get(key) ?? 0;
    if (count > 1) {
      this.#objects.set(key, count - 1);
    } else if (this.#objects.delete(key)) {
      this.#options.sink.unfollow(this.#options.witness, service);
    }
  }

  #report(
    endpoint: WitnessedEndpoint,
    direction: "join" | "leave",
    { by, baseline, notBefore }: Learnt,
  ): void {
    this.#options.sink.report({
      witness: this.#options.witness,
      endpoint,
      direction,
      at: this.#options.clock.monotonicMs(),
      ...(by === "list" && notBefore !== undefined && { notBefore }),
      ...(baseline && { baseline }),
    });
  }
}

function sliceEndpoints(slice: EndpointSlice, service: ServiceRef): readonly WitnessedEndpoint[] {
  return slice.endpoints.flatMap(({ addresses, ready, targetRef }) => {
    // The addresses of one endpoint are interchangeable, and consumers take the first.
    const [address] = addresses;
    if (ready === false || address === undefined) return [];
    const ports = slice.ports.length === 0 ? [0] : slice.ports.map(({ port }) => port ?? 0);
    return endpointsAt(service, address, ports, targetRef);
  });
}

function subsetEndpoints(endpoints: Endpoints, service: ServiceRef): readonly WitnessedEndpoint[] {
  return endpoints.subsets.flatMap(({ addresses, ports }) =>
    addresses.flatMap(({ ip, targetRef }) => {
      const numbers = ports.length === 0 ? [0] : ports.map(({ port }) => port);
      return endpointsAt(service, ip, numbers, targetRef);
    }),
  );
}

function endpointsAt(
  service: ServiceRef,
  address: string,
  ports: readonly number[],
  targetRef: TargetRef | undefined,
): readonly WitnessedEndpoint[] {
  return ports.map((port) => ({ ...service, address, port, podUid: targetRef?.uid }));
}

function serviceKey({ cluster, service }: ServiceRef): string {
  return `${cluster ?? ""} ${service}`;
}
