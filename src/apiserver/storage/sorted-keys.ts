// A set of keys in order, kept as short sorted runs. Adding a key moves at most one run's length,
// and a prefix is found by binary search, so 100,000 keys cost little more than 1,000. Order is by
// UTF-16 code unit, which is the byte order of etcd for every name Kubernetes allows.
import { assertCostly } from "../../environment/assert.ts";

/** Long enough that few runs exist, short enough that inserting into one moves little memory. */
const maxRunLength = 512;

export class SortedKeys {
  /**
   * Invariant: no run is empty, each is sorted without repetition, and the last key of a run is
   * less than the first of the next.
   */
  readonly #runs: string[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Does nothing when the key is there already. */
  add(key: string): void {
    const runIndex = Math.min(this.#runOf(key), this.#runs.length - 1);
    const run = this.#runs[runIndex];
    if (run === undefined) {
      this.#runs.push([key]);
      this.#size = 1;
      return;
    }
    const position = lowerBound(run, key);
    if (run[position] === key) return;
    run.splice(position, 0, key);
    this.#size += 1;
    if (run.length > maxRunLength) {
      this.#runs.splice(runIndex + 1, 0, run.splice(run.length >> 1));
    }
    this.#check();
  }

  /** Does nothing when the key is not there. */
  remove(key: string): void {
    const runIndex = this.#runOf(key);
    const run = this.#runs[runIndex];
    if (run === undefined) return;
    const position = lowerBound(run, key);
    if (run[position] !== key) return;
    run.splice(position, 1);
    this.#size -= 1;
    if (run.length === 0) this.#runs.splice(runIndex, 1);
    this.#check();
  }

  #check(): void {
    const isSorted = () => {
      const keys = this.#runs.flat();
      const isAfter = (key: string, index: number) => index === 0 || (keys[index - 1] ?? "") < key;
      const isCounted = keys.length === this.#size && this.#runs.every(({ length }) => length > 0);
      return isCounted && keys.every(isAfter);
    };
    assertCostly(isSorted, "keys are in order", this.#size);
  }

  /** The keys under the prefix, after `afterKey` if given. The set must not change meanwhile. */
  *under(prefix: string, afterKey?: string): Generator<string, void, undefined> {
    const from = startOf(prefix, afterKey);
    let runIndex = this.#runOf(from);
    let position = lowerBound(this.#runs[runIndex] ?? [], from);
    for (let run = this.#runs[runIndex]; run !== undefined; run = this.#runs[runIndex]) {
      for (; position < run.length; position++) {
        const key = run[position];
        if (key === undefined || !key.startsWith(prefix)) return;
        yield key;
      }
      runIndex += 1;
      position = 0;
    }
  }

  /** How many keys `under` would give. */
  countUnder(prefix: string, afterKey?: string): number {
    const from = startOf(prefix, afterKey);
    return Math.max(0, this.#rank(`${prefix}${lastCharacter}`) - this.#rank(from));
  }

  /** How many keys are less than this one. */
  #rank(key: string): number {
    const runIndex = this.#runOf(key);
    let rank = lowerBound(this.#runs[runIndex] ?? [], key);
    for (let index = 0; index < runIndex; index++) {
      rank += this.#runs[index]?.length ?? 0;
    }
    return rank;
  }

  /** The first run whose last key is not less than this one: where it is, or would be. */
  #runOf(key: string): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = this.#runs[middle]?.at(-1);
      if (last !== undefined && last < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Greater than every character a key can contain (it is no character at all). */
const lastCharacter = "\uffff";

/** The least key that may be listed: the prefix itself, or what follows `afterKey` directly. */
function startOf(prefix: string, afterKey: string | undefined): string {
  return afterKey === undefined || afterKey < prefix ? prefix : `${afterKey}\0`;
}

function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const value = sorted[middle];
    if (value !== undefined && value < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
