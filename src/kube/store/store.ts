// The local copy of a collection. One writer, the reflector, adds versions and replaces the whole
// after a list; all others read. A reader never sees a half replaced or emptied store: a
// replacement is built beside the current view and takes its place in one step.
import type { Projected } from "../kinds/kind.ts";
import { type Change, describeChange } from "./store-change.ts";
import { type IndexFunctions, StoreView } from "./store-view.ts";

/** The interface for readers of a store. An iteration while the store changes shows a mixture. */
export interface ReadonlyStore<T extends Projected, I extends string = never> extends Iterable<T> {
  readonly size: number;
  /** The namespace is empty for objects of the whole cluster. */
  get(namespace: string, name: string): T | undefined;
  inNamespace(namespace: string): Iterable<T>;
  byIndex(index: I, value: string): Iterable<T>;
  /** A copy that later changes do not touch. */
  snapshot(): readonly T[];
}

export class Store<T extends Projected, I extends string = never> implements ReadonlyStore<T, I> {
  #view: StoreView<T, I>;

  constructor(options: { readonly indexes: IndexFunctions<T, I> }) {
    this.#view = new StoreView(options.indexes);
  }

  get size(): number {
    return this.#view.size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#view.get(namespace, name);
  }

  inNamespace(namespace: string): Iterable<T> {
    return this.#view.inNamespace(namespace);
  }

  byIndex(index: I, value: string): Iterable<T> {
    return this.#view.byIndex(index, value);
  }

  snapshot(): readonly T[] {
    return [...this.#view.all()];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#view.all();
  }

  /** Puts a version in and returns the one it replaces. */
  set(object: T): T | undefined {
    return this.#view.set(object);
  }

  delete(namespace: string, name: string): T | undefined {
    return this.#view.delete(namespace, name);
  }

  /** Begins a replacement of everything; nothing changes until it is committed. */
  startReplacement(): Replacement<T, I> {
    return new Replacement(this.#view, (next) => {
      this.#view = next;
    });
  }

  /** Replaces everything by these objects and says what that changed. */
  replace(objects: Iterable<T>): readonly Change<T>[] {
    const replacement = this.startReplacement();
    for (const object of objects) {
      replacement.add(object);
    }
    return replacement.commit();
  }
}

/**
 * A list that is being read, page by page. The store must not be written to until `commit`, which
 * only compares and swaps. Abandoning it needs no call.
 */
export class Replacement<T extends Projected, I extends string> {
  readonly #current: StoreView<T, I>;
  readonly #next: StoreView<T, I>;
  readonly #use: (next: StoreView<T, I>) => void;

  constructor(current: StoreView<T, I>, use: (next: StoreView<T, I>) => void) {
    this.#current = current;
    this.#next = current.emptyCopy();
    this.#use = use;
  }

  /** How many objects it has so far. */
  get size(): number {
    return this.#next.size;
  }

  /** How many objects it would replace. */
  get replaced(): number {
    return this.#current.size;
  }

  /** The objects of the store that it does not have so far. */
  missing(): readonly T[] {
    const missing: T[] = [];
    for (const object of this.#current.all()) {
      const { namespace, name } = object.metadata;
      if (this.#next.get(namespace, name) === undefined) missing.push(object);
    }
    return missing;
  }

  /** The last one added under a name counts. */
  add(object: T): void {
    const { namespace, name, resourceVersion } = object.metadata;
    const known = this.#current.get(namespace, name);
    this.#next.set(known?.metadata.resourceVersion === resourceVersion ? known : object);
  }

  /** Takes over the version the store has, if any: for objects that are listed but not readable. */
  keep(namespace: string, name: string): void {
    const known = this.#current.get(namespace, name);
    if (known !== undefined) {
      this.#next.set(known);
    }
  }

  remove(namespace: string, name: string): void {
    this.#next.delete(namespace, name);
  }

  /** The store now holds exactly what was added or kept. Returns what that changed, deletes first. */
  commit(): readonly Change<T>[] {
    const changes: Change<T>[] = this.missing().map((object) => ({
      type: "deleted",
      object,
      finalStateUnknown: true,
      learntBy: "list",
    }));
    const deliver = (change: Change<T>): void => void changes.push(change);
    for (const object of this.#next.all()) {
      const previous = this.#current.get(object.metadata.namespace, object.metadata.name);
      if (previous !== object) {
        describeChange(previous, object, "list", deliver);
      }
    }
    this.#use(this.#next);
    return changes;
  }
}
