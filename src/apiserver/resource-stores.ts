// The stores of one server, one for each kind it serves. Those of built-in kinds are there from the
// beginning; that of a custom kind comes with its first use and goes with its definition.
import type { ResourceKind } from "./kinds/resource-kind.ts";
import { ResourceStore, type ResourceStoreOptions } from "./listwatch/resource-store.ts";

/** What all stores of a server share. */
export type SharedStoreOptions = Omit<
  ResourceStoreOptions,
  "group" | "version" | "resource" | "kind" | "prefix" | "storedForm"
>;

export class ResourceStores {
  readonly #shared: SharedStoreOptions;
  readonly #stores: Map<ResourceKind, ResourceStore>;

  constructor(kinds: readonly ResourceKind[], shared: SharedStoreOptions) {
    this.#shared = shared;
    this.#stores = new Map(kinds.map((kind) => [kind, this.#make(kind)]));
  }

  of(kind: ResourceKind): ResourceStore {
    kind.custom?.refuseUse();
    const store = this.#stores.get(kind);
    if (store !== undefined) return store;
    if (kind.custom === undefined) throw new Error(`this server has no kind ${kind.kind}`);
    const made = this.#make(kind);
    this.#stores.set(kind, made);
    return made;
  }

  remove(kind: ResourceKind): void {
    this.#stores.get(kind)?.stop();
    this.#stores.delete(kind);
  }

  /** Fills their caches before anybody asks. */
  start(): void {
    for (const store of this.#stores.values()) store.start();
  }

  /** Ends every watch. Idempotent. */
  stop(): void {
    for (const store of this.#stores.values()) store.stop();
  }

  #make({ group, version, resource, kind, prefix, storedForm }: ResourceKind): ResourceStore {
    const names = { group, version, resource, kind, prefix };
    const form = storedForm === undefined ? {} : { storedForm };
    return new ResourceStore({ ...this.#shared, ...names, ...form });
  }
}
