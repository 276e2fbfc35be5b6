// A resource as Lockstep lists, watches and stores it: its API path, and the projection of a raw
// object to a small readonly value. Projection happens at the edge, before the store: a whole pod
// takes 7 kB of memory, its projection a few hundred bytes.
import type { WallMs } from "../../environment/clock.ts";
import type { StringMap } from "./intern.ts";

export interface ObjectMeta {
  /** Empty for objects that belong to the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Opaque; see `resource-version.ts` for what may be done with it. */
  readonly resourceVersion: string;
  readonly creationTimestamp: WallMs | undefined;
  /** When the object will be gone at the latest: the time of the DELETE plus the grace period. */
  readonly deletionTimestamp: WallMs | undefined;
  readonly deletionGracePeriodSeconds: number | undefined;
  readonly labels: StringMap;
}

/** The fields of every projection that the store and the reflector use. */
export interface Projected {
  readonly metadata: ObjectMeta;
}

export interface Kind<T extends Projected> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, as in paths: `endpointslices`. */
  readonly resource: string;
  readonly namespaced: boolean;
  /**
   * Throws `MalformedObjectError`, and nothing else, when the object cannot be understood. Parts
   * that equal those of `similar`, an earlier version or a neighbour, are taken from it.
   */
  project(raw: unknown, similar?: T): T;
}

/** The part of a kind that names its place in the API. */
export type ResourcePlace = Pick<Kind<Projected>, "group" | "version" | "resource" | "namespaced">;

/** `/api/v1/pods`, or `/api/v1/namespaces/shop/pods` for one namespace. */
export function collectionPath(place: ResourcePlace, namespace?: string): string {
  const root =
    place.group === "" ? `/api/${place.version}` : `/apis/${place.group}/${place.version}`;
  return place.namespaced && namespace !== undefined && namespace !== ""
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${place.resource}`
    : `${root}/${place.resource}`;
}

/** `/api/v1/namespaces/shop/pods/web-0`, with `/status` or another subresource when given. */
export function objectPath(
  place: ResourcePlace,
  object: Pick<ObjectMeta, "namespace" | "name">,
  subresource?: string,
): string {
  const path = `${collectionPath(place, object.namespace)}/${encodeURIComponent(object.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** `namespace/name`, or the name alone for objects of the whole cluster: the keys of queues. */
export function objectKey(object: Pick<ObjectMeta, "namespace" | "name">): string {
  return object.namespace === "" ? object.name : `${object.namespace}/${object.name}`;
}

/** The reverse of `objectKey`. Names hold no slash, so the first one separates. */
export function splitObjectKey(key: string): Pick<ObjectMeta, "namespace" | "name"> {
  const slash = key.indexOf("/");
  return slash === -1
    ? { namespace: "", name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
