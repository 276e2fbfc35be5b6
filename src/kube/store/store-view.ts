// One state of a store: objects by namespace and name, and the indexes over them, always in step.
// Namespace and name are two levels of maps rather than one joined key, which saves the key string
// of every object and makes "all of a namespace" free.
import { assertCostly } from "../../environment/assert.ts";
import type { Projected } from "../kinds/kind.ts";

/** The values an object is found by; none, one or several, or one of several. */
export type IndexFunction<T> = (object: T) => string | readonly string[] | AnyOf | undefined;

/**
 * The object is indexed under one of these values: the one with the fewest objects when it came. A
 * lookup asks for all of its values, and so does not scan every object that shares a common one.
 */
export interface AnyOf {
  readonly anyOf: readonly string[];
}

export type IndexFunctions<T, I extends string> = Readonly<Record<I, IndexFunction<T>>>;

/** Invariant: every object is in every index under the values, and no others, its function gives. */
export class StoreView<T extends Projected, I extends string> {
  readonly #indexFunctions: IndexFunctions<T, I>;
  readonly #namespaces = new Map<string, Map<string, T>>();
  readonly #indexes: readonly Index<T>[];
  #size = 0;

  constructor(indexFunctions: IndexFunctions<T, I>) {
    this.#indexFunctions = indexFunctions;
    this.#indexes = Object.entries<IndexFunction<T>>(indexFunctions).map(
      ([name, valuesOf]) => new Index(name, valuesOf),
    );
  }

  get size(): number {
    return this.#size;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  /** Puts the object in the place of its previous version, which is returned. */
  set(object: T): T | undefined {
    const { namespace, name } = object.metadata;
    let names = this.#namespaces.get(namespace);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(namespace, names);
    }
    const previous = names.get(name);
    names.set(name, object);
    this.#size += previous === undefined ? 1 : 0;
    for (const index of this.#indexes) {
      index.replace(previous, object);
    }
    this.#check();
    return previous;
  }

  delete(namespace: string, name: string): T | undefined {
    const names = this.#namespaces.get(namespace);
    const previous = names?.get(name);
    if (names === undefined || previous === undefined) {
      return undefined;
    }
    names.delete(name);
    if (names.size === 0) {
      this.#namespaces.delete(namespace);
    }
    this.#size -= 1;
    for (const index of this.#indexes) {
      index.replace(previous, undefined);
    }
    this.#check();
    return previous;
  }

  *all(): Generator<T, void, undefined> {
    for (const names of this.#namespaces.values()) {
      yield* names.values();
    }
  }

  inNamespace(namespace: string): Iterable<T> {
    return this.#namespaces.get(namespace)?.values() ?? [];
  }

  byIndex(index: I, value: string): Iterable<T> {
    return this.#indexes.find((one) => one.name === index)?.get(value) ?? [];
  }

  /** A view without objects and with the same indexes. */
  emptyCopy(): StoreView<T, I> {
    return new StoreView(this.#indexFunctions);
  }

  #check(): void {
    const holds = () =>
      this.#size === [...this.all()].length &&
      this.#indexes.every((index) => index.holdsExactly(this));
    assertCostly(holds, "indexes have every object under its values", this.#size);
  }
}

/**
 * Most values have few objects and many have one, so a value maps to the object itself or to a list
 * that is searched from the start: a Set takes four times the memory, and more after every change.
 */
class Index<T extends Projected> {
  readonly name: string;
  readonly #valuesOf: IndexFunction<T>;
  readonly #entries = new Map<string, T | T[]>();

  constructor(name: string, valuesOf: IndexFunction<T>) {
    this.name = name;
    this.#valuesOf = valuesOf;
  }

  get(value: string): Iterable<T> {
    const entry = this.#entries.get(value);
    if (entry === undefined) {
      return [];
    }
    return Array.isArray(entry) ? entry.values() : [entry];
  }

  /** Whether these objects, and no others, are under their values, and under no others. */
  holdsExactly(objects: Pick<StoreView<T, string>, "all" | "get">): boolean {
    let expected = 0;
    for (const object of objects.all()) {
      const values = this.#valuesOf(object);
      expected += isAnyOf(values) ? Math.min(values.anyOf.length, 1) : [...listOf(values)].length;
    }
    for (const value of this.#entries.keys()) {
      const found = new Set(this.get(value));
      if (found.size !== this.#count(value)) return false;
      expected -= found.size;
      for (const object of found) {
        const { namespace, name } = object.metadata;
        const isStored = objects.get(namespace, name) === object;
        if (!isStored || !this.#mayBeUnder(value, object)) return false;
      }
    }
    return expected === 0;
  }

  #mayBeUnder(value: string, object: T): boolean {
    const values = this.#valuesOf(object);
    return [...(isAnyOf(values) ? values.anyOf : listOf(values))].includes(value);
  }

  /** Takes `previous` out and puts `object` in, in the same place where the value is the same. */
  replace(previous: T | undefined, object: T | undefined): void {
    const before = previous === undefined ? undefined : this.#valuesUnder(previous);
    const after = object === undefined ? undefined : this.#valuesFor(object, before);
    if (typeof before === "string" && before === after) {
      this.#exchange(before, previous, object);
      return;
    }
    for (const value of listOf(before)) {
      this.#exchange(value, previous, undefined);
    }
    for (const value of listOf(after)) {
      this.#exchange(value, undefined, object);
    }
  }

  /** Those that an object is under which is in the index. */
  #valuesUnder(object: T): IndexValues {
    const values = this.#valuesOf(object);
    return isAnyOf(values) ? values.anyOf.find((value) => this.#has(value, object)) : values;
  }

  /** Those to put an object under; that of its previous version, if it still has it. */
  #valuesFor(object: T, before: IndexValues): IndexValues {
    const values = this.#valuesOf(object);
    if (!isAnyOf(values)) return values;
    const { anyOf } = values;
    if (typeof before === "string" && anyOf.includes(before)) return before;
    const [first, ...others] = anyOf;
    return others.reduce(
      (rarest, value) =>
        rarest !== undefined && this.#count(value) < this.#count(rarest) ? value : rarest,
      first,
    );
  }

  #has(value: string, object: T): boolean {
    const entry = this.#entries.get(value);
    return entry === object || (Array.isArray(entry) && entry.includes(object));
  }

  #count(value: string): number {
    const entry = this.#entries.get(value);
    if (entry === undefined) return 0;
    return Array.isArray(entry) ? entry.length : 1;
  }

  #exchange(value: string, previous: T | undefined, object: T | undefined): void {
    const entry = this.#entries.get(value);
    if (entry === undefined || entry === previous) {
      this.#put(value, object);
      return;
    }
    const list = Array.isArray(entry) ? entry : [entry];
    const at = previous === undefined ? -1 : list.indexOf(previous);
    if (object === undefined) {
      list.splice(at, at === -1 ? 0 : 1);
    } else if (at !== -1) {
      list[at] = object;
    } else {
      list.push(object);
    }
    this.#put(value, list.length > 1 ? list : list[0]);
  }

  #put(value: string, entry: T | T[] | undefined): void {
    if (entry === undefined) {
      this.#entries.delete(value);
    } else {
      this.#entries.set(value, entry);
    }
  }
}

type IndexValues = string | readonly string[] | undefined;

function isAnyOf(values: IndexValues | AnyOf): values is AnyOf {
  return typeof values === "object" && "anyOf" in values;
}

/** Each value once, or the object would be found twice. */
function listOf(values: IndexValues): Iterable<string> {
  return typeof values === "string" ? [values] : new Set(values);
}
