// Equal values kept once. Twenty thousand pods of a thousand Deployments have a thousand different
// sets of labels and ports, so sharing them is most of what makes a cached pod small. A pool changes
// memory use and never a value: it forgets at will, and then an equal value is kept twice.
import { assertCostly } from "../../environment/assert.ts";

export type StringMap = Readonly<Record<string, string>>;

export const noStrings: StringMap = Object.freeze({});

/**
 * Distinct values one pool remembers. At some 300 bytes each that is 10 MB when every pod has labels
 * of its own, and it covers the Deployments of the largest clusters.
 */
export const internPoolCapacity = 32_768;

/**
 * Invariant: `#young` and `#old` together hold at most `capacity` values. Values used since the last
 * turn are in `#young`; when it is half the capacity it becomes `#old` and what was there is dropped.
 */
export class InternPool<V> {
  readonly #halfCapacity: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(capacity: number = internPoolCapacity) {
    this.#halfCapacity = Math.max(1, Math.floor(capacity / 2));
  }

  /** The value kept under this key; `value` itself when there is none. Equal keys, equal values. */
  share(key: string, value: V): V {
    const young = this.#young.get(key);
    if (young !== undefined) {
      return young;
    }
    const kept = this.#old.get(key) ?? value;
    if (this.#young.size >= this.#halfCapacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, kept);
    assertCostly(() => this.size <= 2 * this.#halfCapacity, "a pool of values is bounded");
    return kept;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}

const strings = new InternPool<string>();
const structures = new InternPool<object>();

/** For strings that repeat from object to object: namespaces, node names. */
export function internString(value: string, similar?: string): string {
  return value === similar ? similar : strings.share(value, value);
}

/** The equal string we already have: stores hold the first one as the key of all versions. */
export function sameString(value: string, similar: string | undefined): string {
  return value === similar ? similar : value;
}

/**
 * Items that equal those of `similar` are taken from it, and `similar` itself if all are equal. So
 * a new version of a long list needs little memory. Writers keep the order of such a list, so an
 * equal item is searched only near changes.
 */
export function shareItems<T>(
  items: readonly T[],
  similar: readonly T[] | undefined,
  isSame: (a: T, b: T) => boolean,
): readonly T[] {
  if (similar === undefined || similar.length === 0) return items;
  let behindLast = 0;
  let missed = 0;
  let found = 0;
  const placeOf = (item: T): number => {
    const changed = behindLast + missed;
    if (isAt(similar, changed, item, isSame)) return changed;
    if (isAt(similar, behindLast, item, isSame)) return behindLast;
    return isAt(similar, changed + 1, item, isSame) ? changed + 1 : similar.length;
  };
  const shared = items.map((item) => {
    const place = placeOf(item);
    const known = similar[place];
    if (known === undefined) {
      missed += 1;
      return item;
    }
    behindLast = place + 1;
    missed = 0;
    found += 1;
    return known;
  });
  return found === items.length && found === similar.length ? similar : shared;
}

function isAt<T>(
  list: readonly T[],
  place: number,
  item: T,
  isSame: (a: T, b: T) => boolean,
): boolean {
  const known = place < list.length ? list[place] : undefined;
  return known !== undefined && isSame(known, item);
}

/**
 * For small plain JSON values that repeat from object to object: labels, ports, probes. Equal
 * values share the result, so the type should be readonly. An equal `similar` is returned at once,
 * which costs a third of a lookup in the pool.
 */
export function internStructure<T extends object>(value: T, similar?: T): T {
  if (similar !== undefined && isEqual(value, similar)) {
    return similar;
  }
  const kept = structures.share(JSON.stringify(value), value);
  // Equal JSON text of plain values means equal values, so what was kept has the same type.
  return kept as T;
}

/** Of plain JSON values: objects without a prototype of their own, lists and primitives. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) && a.length === b.length && a.every((item, index) => isEqual(item, b[index]))
    );
  }
  return a === b || (isFields(a) && isFields(b) && haveEqualFields(a, b));
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function haveEqualFields(a: Fields, b: Fields): boolean {
  let unmatched = 0;
  for (const _key in b) {
    unmatched += 1;
  }
  for (const key in a) {
    if (!isEqual(a[key], b[key])) {
      return false;
    }
    unmatched -= 1;
  }
  return unmatched === 0;
}
