// Decides whether a list may remove what is known. A server that has lost its storage, or a proxy in
// front of it, can answer 200 with an empty or a half list. So a list without half or more of the known
// objects is not applied: the old objects stay, and the collection is listed again after a while, whole
// and by quorum. The removal counts when enough lists in a row do not have the objects. Deletions that
// a watch reports are seen one by one, and do not come here.
import { assert } from "../../environment/assert.ts";
import type { Projected } from "../kinds/kind.ts";
import type { Replacement } from "../store/store.ts";

/** How long to wait before the next list: a server that restarts or fails over takes seconds. */
export const lookAgainMs = 10_000;
/**
 * So many lists without the objects prove that they are gone: 20 s in all, which is less than an
 * ingress waits at its start for what it has not read.
 */
export const agreeingLists = 3;
/** Lists that never agree with each other end the doubt as well, after two minutes. */
export const doubtedListsMax = 12;

/** How many objects the watches of an earlier process showed, or at least must have shown. */
export interface KnownBefore {
  /** At least so many; 0 when nothing is known. */
  before(watch: WatchName): number;
  /** From now on this says how many there are, until the returned function is called. */
  track?(watch: WatchName, size: () => number): () => void;
}

export interface WatchName {
  readonly cluster: string;
  /** Plural: `ingresses`. */
  readonly resource: string;
  /** Its selector; empty for all objects. */
  readonly selection: string;
}

/** A list that was not applied. */
export interface DoubtedList {
  readonly listed: number;
  readonly known: number;
  readonly message: string;
}

export class DoubtedListError extends Error {
  override readonly name = "DoubtedListError";
  readonly code = "DOUBTED_LIST";
}

export interface FinishedList<T extends Projected, I extends string> {
  readonly replacement: Replacement<T, I>;
  /** How many objects its pages announced and did not have. */
  readonly unsent: number;
}

/** Invariant: `#lists` is 0 exactly when nothing is doubted, and then `#missing` is undefined. */
export class RemovalCheck<T extends Projected, I extends string> {
  readonly #resource: string;
  /** How many an earlier process knew; counts until the first list is applied. */
  readonly #knownBefore: () => number;
  #lists = 0;
  /** Objects that no list has had since the doubt began. */
  #missing: ReadonlySet<T> | undefined;

  constructor(options: { readonly resource: string; readonly knownBefore: () => number }) {
    this.#resource = options.resource;
    this.#knownBefore = options.knownBefore;
  }

  /** Why the list must not be applied yet; undefined when it may. */
  doubt(list: FinishedList<T, I>): DoubtedList | undefined {
    const doubted = this.#judge(list);
    const isDoubted = doubted !== undefined;
    assert(isDoubted === this.#lists > 0, "lists are counted while one is doubted");
    assert(isDoubted === (this.#missing !== undefined), "objects are missing while one is doubted");
    return doubted;
  }

  #judge(list: FinishedList<T, I>): DoubtedList | undefined {
    const { known, lost, missing } = this.#losses(list);
    const listed = list.replacement.size;
    if (!isMost(lost, known) && list.unsent === 0) return this.#settled();
    this.#lists += 1;
    const isNew = (object: T) => this.#missing?.has(object) === false;
    const agree = !isMost(missing.filter(isNew).length, known);
    const areEnough = this.#lists >= (agree ? agreeingLists : doubtedListsMax);
    if (areEnough) return this.#settled();
    this.#missing = new Set(missing.filter((object) => !isNew(object)));
    return this.#doubted(listed, Math.max(known, listed + list.unsent));
  }

  /** Before the first list only the number is known, and any list with too few agrees with it. */
  #losses({ replacement }: FinishedList<T, I>) {
    const { replaced } = replacement;
    if (replaced > 0) {
      const missing = replacement.missing();
      return { known: replaced, lost: missing.length, missing };
    }
    const known = this.#knownBefore();
    return { known, lost: known - replacement.size, missing: [] };
  }

  #settled(): undefined {
    this.#lists = 0;
    this.#missing = undefined;
    return undefined;
  }

  #doubted(listed: number, known: number): DoubtedList {
    const [has, had] = [listed, known].map((count) => count.toLocaleString("en-US"));
    const message =
      `list of ${this.#resource} returned ${has} of ${had} known objects; ` +
      `the old ones are kept until ${agreeingLists} lists agree`;
    return { listed, known, message };
  }
}

function isMost(count: number, all: number): boolean {
  return count > 0 && count * 2 >= all;
}
