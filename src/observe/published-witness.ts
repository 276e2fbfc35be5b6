// The witness at `published` and at `synced`: which endpoints Endpoints or EndpointSlices list as
// ready, in the cluster itself or as a copy in an access cluster. An endpoint is listed as long as
// any object lists it, however a service's endpoints are split over them.
import type { WallMs } from "../environment/clock.ts";
import { type EndpointSlice, serviceNameOf } from "../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../kube/kinds/endpoints.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { Change } from "../kube/store/store-change.ts";
import { listedInEndpoints, listedInSlice, portNumbers } from "../model/published-endpoint.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type {
  ClusterStamp,
  Direction,
  ServiceRef,
  Witness,
  WitnessedEndpoint,
} from "../timeline/witness.ts";
import { changedPart } from "./changed-part.ts";
import type { Learnt } from "./pod-witness.ts";

export interface PublishedWitnessOptions {
  readonly witness: Witness;
  readonly sink: ObservationSink;
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

/** The endpoints that one object lists, by their name in the service. */
interface ListedEndpoints {
  readonly endpoints: Map<string, WitnessedEndpoint>;
  /** The version of the object that they are of. */
  version: EndpointSlice | Endpoints;
}

/** Invariant: it is followed, and has an object or is watched itself. */
interface PublishedService {
  readonly ref: ServiceRef;
  /** By uid. */
  readonly objects: Map<string, ListedEndpoints>;
  /** The service itself is there: it is expected to be published before it has any object. */
  exists: boolean;
}

/** When the pods changed that the controller had just looked at; it tells of joins only. */
const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

export class PublishedWitness {
  readonly #options: PublishedWitnessOptions;
  /** By cluster and name. */
  readonly #services = new Map<string, PublishedService>();
  /** By uid of the object, the service that it was last seen to belong to. */
  readonly #owners = new Map<string, PublishedService>();

  constructor(options: PublishedWitnessOptions) {
    this.#options = options;
  }

  /** A service is expected to be published before it has any object, and as long as it has one. */
  serviceChanged(change: Change<Service>, service: ServiceRef): void {
    const isDeleted = change.type === "deleted";
    if (isDeleted && !this.#services.has(serviceKey(service))) return;
    const published = this.#serviceOf(service);
    published.exists = !isDeleted;
    this.#unfollowIfGone(published);
  }

  sliceChanged(change: Change<EndpointSlice>, learnt: Learnt): void {
    this.#changed(change, learnt);
  }

  endpointsChanged(change: Change<Endpoints>, learnt: Learnt): void {
    this.#changed(change, learnt);
  }

  #changed(change: Change<EndpointSlice | Endpoints>, learnt: Learnt): void {
    const { object } = change;
    const { uid } = object.metadata;
    const ref = change.type === "deleted" ? undefined : this.#options.serviceOf(object);
    const before = this.#owners.get(uid);
    const after = ref && this.#serviceOf(ref);
    if (before !== undefined && before !== after) {
      this.#dropped(before, uid, { learnt });
      this.#owners.delete(uid);
      this.#unfollowIfGone(before);
    }
    if (after === undefined) return;
    if (before !== after) this.#owners.set(uid, after);
    this.#list(after, object, { learnt, clusterStamp: triggerStamp(change) });
  }

  /**
   * Replaces the endpoints of the object; endpoints that no other object of the service lists are
   * reported.
   */
  #list(service: PublishedService, object: EndpointSlice | Endpoints, how: How): void {
    const { ref, objects } = service;
    const known = objects.get(object.metadata.uid);
    const listed = known ?? { endpoints: new Map<string, WitnessedEndpoint>(), version: object };
    if (known === undefined) objects.set(object.metadata.uid, listed);
    const part = changedPart(known?.version, object);
    const before =
      part === undefined ? listed.endpoints.values() : listedEndpoints(part.before, ref);
    const endpoints = listedEndpoints(part?.after ?? object, ref);
    const after = new Map(endpoints.map((endpoint) => [nameOf(endpoint), endpoint]));
    listed.version = object;
    for (const endpoint of before) {
      const name = nameOf(endpoint);
      if (after.has(name) || !listed.endpoints.delete(name)) continue;
      if (!isListed(service, name)) this.#report(endpoint, "leave", how);
    }
    for (const [name, endpoint] of after) {
      if (listed.endpoints.has(name)) continue;
      const isNew = !isListed(service, name);
      listed.endpoints.set(name, endpoint);
      if (isNew) this.#report(endpoint, "join", how);
    }
  }

  /** The object is gone, or belongs to another service now. */
  #dropped(service: PublishedService, uid: string, how: How): void {
    const listed = service.objects.get(uid);
    service.objects.delete(uid);
    for (const [name, endpoint] of listed?.endpoints ?? []) {
      if (!isListed(service, name)) this.#report(endpoint, "leave", how);
    }
  }

  #serviceOf(ref: ServiceRef): PublishedService {
    const key = serviceKey(ref);
    const known = this.#services.get(key);
    if (known !== undefined) return known;
    const service: PublishedService = { ref, objects: new Map(), exists: false };
    this.#services.set(key, service);
    this.#options.sink.follow(this.#options.witness, ref);
    return service;
  }

  #unfollowIfGone({ ref, objects, exists }: PublishedService): void {
    if (exists || objects.size > 0) return;
    this.#services.delete(serviceKey(ref));
    this.#options.sink.unfollow(this.#options.witness, { ...ref, isGone: true });
  }

  #report(endpoint: WitnessedEndpoint, direction: Direction, how: How): void {
    const { at, baseline, notBefore } = how.learnt;
    const { clusterStamp } = how;
    this.#options.sink.report({
      witness: this.#options.witness,
      endpoint,
      direction,
      at,
      ...(direction === "join" && clusterStamp !== undefined && { clusterStamp }),
      ...(notBefore !== undefined && { notBefore }),
      ...(baseline && { baseline }),
    });
  }
}

interface How {
  readonly learnt: Learnt;
  readonly clusterStamp?: ClusterStamp | undefined;
}

/** A version that only removes, or changes nothing, keeps the annotation of an earlier one. */
function triggerStamp(change: Change<EndpointSlice | Endpoints>): ClusterStamp | undefined {
  const text = change.object.annotations[triggerTimeAnnotation];
  if (change.type === "updated" && change.previous.annotations[triggerTimeAnnotation] === text) {
    return undefined;
  }
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : { at: at as WallMs, by: "" };
}

/** A service's objects are few: one, or one for each hundred endpoints. */
function isListed({ objects }: PublishedService, name: string): boolean {
  for (const { endpoints } of objects.values()) if (endpoints.has(name)) return true;
  return false;
}

/** Cluster and service are those of the object. */
function nameOf({ address, port, podUid = "" }: WitnessedEndpoint): string {
  return `${address} ${port} ${podUid}`;
}

function listedEndpoints(
  object: EndpointSlice | Endpoints,
  { cluster, service }: ServiceRef,
): readonly WitnessedEndpoint[] {
  const listed = "addressType" in object ? listedInSlice(object) : listedInEndpoints(object);
  return listed.flatMap(({ ready, address, ports, targetRef }) =>
    ready
      ? portNumbers(ports).map((port) => ({
          cluster,
          service,
          address,
          port,
          podUid: targetRef?.uid,
        }))
      : [],
  );
}

function serviceKey({ cluster, service }: ServiceRef): string {
  return `${cluster ?? ""} ${service}`;
}
