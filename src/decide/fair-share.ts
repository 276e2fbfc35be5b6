// Divides memory that all tenants share: no namespace can use memory that another one needs. If
// everything fits, everything is served. If not, the namespaces that use most are cut to the same
// level, and each of them loses its own largest and newest entries first; entries of others stay. A
// namespace that uses no more than the capacity divided by the number of namespaces never loses
// anything.
//
// The result depends only on the current charges: after a restart it is the same, and nothing flaps
// while nothing changes. The cost of a change depends on its own namespace, not on all of them.
import { assertCostly } from "../environment/assert.ts";
import { compareText } from "./compare-text.ts";

/** The size of one entry. */
export interface Charge {
  readonly namespace: string;
  readonly bytes: number;
  /**
   * Creation time of the object that needs it; of two of one size the older stays. 0 if unknown.
   */
  readonly createdAtMs: number;
}

export interface FairShareOptions {
  readonly capacityBytes: number;
  /** No entry may be larger, however much room there is. */
  readonly entryBytesMax: number;
}

/** A namespace that has something left out. */
export interface NamespaceUse {
  readonly namespace: string;
  /** Of all that it has. */
  readonly usedBytes: number;
  /** The entries that are left out. */
  readonly keys: readonly string[];
}

/**
 * The most that each may use, so that all uses together fit: the unused part of what small ones could
 * have goes to the larger ones. Infinite when all fit as they are.
 */
export function fairLevel(uses: Iterable<number>, capacity: number): number {
  const ascending = [...uses].sort((a, b) => a - b);
  let rest = capacity;
  for (const [index, use] of ascending.entries()) {
    const level = rest / (ascending.length - index);
    if (use > level) return level;
    rest -= use;
  }
  return Number.POSITIVE_INFINITY;
}

/** The level moves in steps of one part in so many: a small change leaves it where it is. */
const levelSteps = 512;

interface Item extends Charge {
  readonly key: string;
  /** Sizes within a factor of two count as one: a rollout that doubles a service changes no order. */
  readonly sizeClass: number;
}

/**
 * Invariant: `items` is in the order in which they are kept, `usedBytes` is their sum, `large` counts
 * those that are too large by themselves, and `out` holds the keys of those that are left out.
 */
interface Namespace {
  readonly items: Item[];
  readonly out: Set<string>;
  usedBytes: number;
  large: number;
}

export class FairShare {
  readonly #entryBytesMax: number;
  readonly #items = new Map<string, Item>();
  readonly #namespaces = new Map<string, Namespace>();
  /** Those with other charges than when `settle` was last called. */
  readonly #changed = new Set<Namespace>();
  /** Left out by the last `settle`, and charged otherwise since. */
  readonly #wereOut = new Set<string>();
  #capacityBytes: number;
  #usedBytes = 0;
  #level = Number.POSITIVE_INFINITY;

  constructor({ capacityBytes, entryBytesMax }: FairShareOptions) {
    this.#capacityBytes = capacityBytes;
    this.#entryBytesMax = entryBytesMax;
  }

  get capacityBytes(): number {
    return this.#capacityBytes;
  }

  /** So much is there from the next `settle` on. */
  setCapacity(bytes: number): void {
    this.#capacityBytes = bytes;
  }

  /** Of all entries, those that are left out included. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** An entry takes this from now on; undefined when it is gone. */
  charge(key: string, charge: Charge | undefined): void {
    const before = this.#items.get(key);
    if (this.isLeftOut(key)) this.#wereOut.add(key);
    if (before !== undefined) this.#remove(before);
    if (charge !== undefined) this.#add({ ...charge, key, sizeClass: sizeClassOf(charge.bytes) });
    const namespace = (charge ?? before)?.namespace ?? "";
    const size = this.#namespaces.get(namespace)?.items.length;
    assertCostly(
      () => this.#isInStep(namespace),
      "what a namespace uses is counted in order",
      size,
    );
  }

  /** By the last `settle`. */
  isLeftOut(key: string): boolean {
    const item = this.#items.get(key);
    return item !== undefined && this.#namespaces.get(item.namespace)?.out.has(key) === true;
  }

  /** Decides again which entries are left out; returns the keys whose answer may have changed. */
  settle(): readonly string[] {
    const level = this.#levelNow();
    const isMoved = level !== this.#level;
    const changed: string[] = [];
    for (const one of isMoved ? this.#namespaces.values() : this.#changed) {
      const isAllKept = one.usedBytes <= level && one.large === 0;
      if (!isAllKept || one.out.size > 0) this.#cut(one, level, changed);
    }
    for (const key of this.#wereOut) if (!this.isLeftOut(key)) changed.push(key);
    this.#wereOut.clear();
    this.#changed.clear();
    this.#level = level;
    return changed;
  }

  /** Of every namespace that has something left out. */
  leftOut(): readonly NamespaceUse[] {
    return [...this.#namespaces]
      .filter(([, { out }]) => out.size > 0)
      .map(([namespace, { usedBytes, out }]) => ({ namespace, usedBytes, keys: [...out] }));
  }

  #levelNow(): number {
    // Nearly always: then no namespace has to be looked at.
    if (this.#usedBytes <= this.#capacityBytes) return Number.POSITIVE_INFINITY;
    const uses = [...this.#namespaces.values()].map(({ usedBytes }) => usedBytes);
    const step = this.#capacityBytes / levelSteps;
    return Math.floor(fairLevel(uses, this.#capacityBytes) / step) * step;
  }

  /** The first ones are kept, as long as they fit. */
  #cut({ items, out }: Namespace, level: number, changed: string[]): void {
    let bytes = 0;
    for (const item of items) {
      bytes += item.bytes;
      const isOut = bytes > level || item.bytes > this.#entryBytesMax;
      if (isOut === out.has(item.key)) continue;
      if (isOut) out.add(item.key);
      else out.delete(item.key);
      changed.push(item.key);
    }
  }

  #isInStep(name: string): boolean {
    const { items, out, usedBytes, large } = this.#namespaces.get(name) ?? unused;
    const isInOrder = items.every((item, index) => {
      const before = items[index - 1];
      return before === undefined || compareItems(before, item) < 0;
    });
    const keys = new Set(items.map(({ key }) => key));
    return (
      isInOrder &&
      usedBytes === items.reduce((sum, { bytes }) => sum + bytes, 0) &&
      large === items.filter(({ bytes }) => bytes > this.#entryBytesMax).length &&
      [...out].every((key) => keys.has(key)) &&
      items.every((item) => this.#items.get(item.key) === item)
    );
  }

  #add(item: Item): void {
    const known = this.#namespaces.get(item.namespace);
    const namespace = known ?? { items: [], out: new Set(), usedBytes: 0, large: 0 };
    this.#namespaces.set(item.namespace, namespace);
    namespace.items.splice(placeOf(namespace.items, item), 0, item);
    this.#items.set(item.key, item);
    this.#count(namespace, item, 1);
  }

  #remove(item: Item): void {
    const namespace = this.#namespaces.get(item.namespace);
    this.#items.delete(item.key);
    if (namespace === undefined) return;
    namespace.items.splice(placeOf(namespace.items, item), 1);
    namespace.out.delete(item.key);
    this.#count(namespace, item, -1);
    if (namespace.items.length === 0) this.#namespaces.delete(item.namespace);
  }

  #count(namespace: Namespace, { bytes }: Item, sign: 1 | -1): void {
    namespace.usedBytes += sign * bytes;
    this.#usedBytes += sign * bytes;
    if (bytes > this.#entryBytesMax) namespace.large += sign;
    this.#changed.add(namespace);
  }
}

const unused: Namespace = { items: [], out: new Set(), usedBytes: 0, large: 0 };

function sizeClassOf(bytes: number): number {
  return Math.ceil(Math.log2(Math.max(1, bytes)));
}

/** The smaller first, of one size the older: the last ones are left out first. */
function compareItems(a: Item, b: Item): number {
  if (a.sizeClass !== b.sizeClass) return a.sizeClass - b.sizeClass;
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs < b.createdAtMs ? -1 : 1;
  return compareText(a.key, b.key);
}

/** Where it is, or belongs. */
function placeOf(items: readonly Item[], item: Item): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = items[middle];
    if (other !== undefined && compareItems(other, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
