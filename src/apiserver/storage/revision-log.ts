// Changes by revision: appended at the end, forgotten from the front, found by binary search. Both
// the storage's history and a watch cache's window are such a log.
import { assertCostly } from "../../environment/assert.ts";

/** Forgotten entries are cut off when they are the majority and at least so many. */
const minForgotten = 1024;

export class RevisionLog<Entry extends { readonly revision: number }> {
  /** Invariant: revisions rise; entries before `#start` are forgotten and wait to be cut off. */
  #entries: (Entry | undefined)[] = [];
  #start = 0;

  get size(): number {
    return this.#entries.length - this.#start;
  }

  get oldest(): Entry | undefined {
    return this.#entries[this.#start];
  }

  append(entry: Entry): void {
    const last = this.#entries.at(-1);
    assertCostly(() => last === undefined || last.revision < entry.revision, "revisions rise");
    this.#entries.push(entry);
  }

  /** Forgets the oldest entry. */
  dropOldest(): void {
    if (this.size === 0) return;
    this.#entries[this.#start] = undefined;
    this.#start += 1;
    if (this.#start >= minForgotten && this.#start * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#start);
      this.#start = 0;
    }
  }

  clear(): void {
    this.#entries = [];
    this.#start = 0;
  }

  /** The entries after a revision, oldest first, at most `limit`. */
  after(revision: number, limit = Number.POSITIVE_INFINITY): readonly Entry[] {
    const first = this.#firstAfter(revision);
    const end = Math.min(this.#entries.length, first + limit);
    const found: Entry[] = [];
    for (let index = first; index < end; index++) {
      const entry = this.#entries[index];
      if (entry !== undefined) found.push(entry);
    }
    return found;
  }

  #firstAfter(revision: number): number {
    let low = this.#start;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && entry.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
