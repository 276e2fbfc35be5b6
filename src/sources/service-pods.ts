// Which pods each service selects, kept up with every change, so that neither a pod's event nor a
// look at a service has to go through all services or all pods of a namespace.
import type { StringMap } from "../kube/kinds/intern.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import type { Pod } from "../kube/kinds/pod.ts";
import type { Service } from "../kube/kinds/service.ts";
import type { ReadonlyStore } from "../kube/store/store.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { AnyOf } from "../kube/store/store-view.ts";

export type ServiceStore = ReadonlyStore<Service, "selector">;

/**
 * Any one of the labels that a service's selector asks for will do to find it by. Some of them may be
 * the same in every service, such as who made it; there it is found by another.
 */
export function selectorIndex({ metadata, selector }: Service): AnyOf | string | undefined {
  if (selector === undefined) return undefined;
  const { namespace } = metadata;
  const keys = Object.keys(selector);
  if (keys.length === 0) return indexValue(namespace, undefined, undefined);
  return { anyOf: keys.map((key) => indexValue(namespace, key, selector[key])) };
}

/** An empty selector selects every pod, an absent one none. */
export function selects(selector: StringMap | undefined, labels: StringMap): boolean {
  if (selector === undefined) return false;
  for (const key in selector) {
    if (labels[key] !== selector[key]) return false;
  }
  return true;
}

export class ServicePods {
  readonly #services: ServiceStore;
  readonly #pods: ReadonlyStore<Pod>;
  /**
   * By service key, the names of its pods. Holds every pod that was selected when its last change
   * was delivered; readers check again, because the stores may be ahead of the deliveries.
   */
  readonly #members = new Map<string, Set<string>>();

  constructor(options: { readonly services: ServiceStore; readonly pods: ReadonlyStore<Pod> }) {
    this.#services = options.services;
    this.#pods = options.pods;
  }

  /** Takes note of a pod's change and returns the keys of the services it concerns. */
  podChanged(change: Change<Pod>): ReadonlySet<string> {
    const concerned = new Set<string>();
    const { namespace, name } = change.object.metadata;
    const before = change.type === "updated" ? change.previous : undefined;
    if (before !== undefined && before.metadata.labels !== change.object.metadata.labels) {
      for (const key of this.#selecting(namespace, before.metadata.labels)) {
        concerned.add(key);
        this.#members.get(key)?.delete(name);
      }
    }
    for (const key of this.#selecting(namespace, change.object.metadata.labels)) {
      concerned.add(key);
      if (change.type === "deleted") this.#members.get(key)?.delete(name);
      else this.#membersOf(key).add(name);
    }
    return concerned;
  }

  /** The keys of the services that select this pod. */
  servicesOf({ metadata }: Pod): Iterable<string> {
    return this.#selecting(metadata.namespace, metadata.labels);
  }

  /** Takes note of a service's change. */
  serviceChanged(change: Change<Service>): void {
    const { metadata, selector } = change.object;
    const key = objectKey(metadata);
    if (change.type === "deleted") {
      this.#members.delete(key);
      return;
    }
    if (change.type === "updated" && sameLabels(change.previous.selector, selector)) return;
    this.#members.delete(key);
    if (selector === undefined) return;
    for (const pod of this.#pods.inNamespace(metadata.namespace)) {
      if (selects(selector, pod.metadata.labels)) this.#membersOf(key).add(pod.metadata.name);
    }
  }

  /** The pods a service selects now. */
  *podsOf({ metadata, selector }: Service): Generator<Pod, void, undefined> {
    for (const name of this.#members.get(objectKey(metadata)) ?? []) {
      const pod = this.#pods.get(metadata.namespace, name);
      if (pod !== undefined && selects(selector, pod.metadata.labels)) yield pod;
    }
  }

  *#selecting(namespace: string, labels: StringMap): Generator<string, void, undefined> {
    const values = [indexValue(namespace, undefined, undefined)];
    for (const key in labels) values.push(indexValue(namespace, key, labels[key]));
    for (const value of values) {
      for (const service of this.#services.byIndex("selector", value)) {
        if (selects(service.selector, labels)) yield objectKey(service.metadata);
      }
    }
  }

  #membersOf(key: string): Set<string> {
    let members = this.#members.get(key);
    if (members === undefined) {
      members = new Set();
      this.#members.set(key, members);
    }
    return members;
  }
}

/** Neither a namespace nor a label's key can hold these separators. */
function indexValue(namespace: string, key: string | undefined, value: string | undefined): string {
  return key === undefined ? `${namespace}\n` : `${namespace}\n${key}=${value ?? ""}`;
}

function sameLabels(a: StringMap | undefined, b: StringMap | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return selects(a, b) && selects(b, a);
}
