// The names of one resource, in messages and metrics, and the place of its objects in the storage.
import type { KubeObject } from "../kube-object.ts";

export interface ResourceNames {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, lower case: `pods`. */
  readonly resource: string;
  readonly kind: string;
  /** Where the storage keeps it, with a slash at the end: `/registry/pods/`. */
  readonly prefix: string;
}

/** The prefix of all objects of the resource, or of those in one namespace. */
export function scopePrefix(names: ResourceNames, namespace: string | undefined): string {
  return namespace === undefined ? names.prefix : `${names.prefix}${namespace}/`;
}

export function storageKey(
  names: ResourceNames,
  namespace: string | undefined,
  name: string,
): string {
  return `${scopePrefix(names, namespace)}${name}`;
}

export function storageKeyOf(names: ResourceNames, object: KubeObject): string {
  return storageKey(names, object.metadata.namespace, object.metadata.name);
}

export function apiVersionOf(names: ResourceNames): string {
  return names.group === "" ? names.version : `${names.group}/${names.version}`;
}
