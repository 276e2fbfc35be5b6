// Whose turn it is to be probed when there are more in doubt than can be asked at once. Clusters
// take turns, so that one in trouble does not keep the others waiting; within a cluster those that
// were never asked come first; and no machine is asked for more than a few of its pods at a time.
import type { ProbeTarget } from "./probe-once.ts";

/** A machine that lives answers in milliseconds; one that is gone holds each probe for a second. */
export const maxPerNode = 32;

/** All of them together; each is a socket. */
export const maxAtOnce = 256;

interface Line<T> {
  /** In the order they came. */
  readonly first: Set<T>;
  readonly again: Set<T>;
}

interface Waiting {
  readonly target: ProbeTarget;
}

/** Invariant: everyone waits in one line at most, or is under way and waits in none. */
export class ProbeTurns<T extends Waiting> {
  /** By cluster; the one that had its turn last is last. */
  readonly #lines = new Map<string, Line<T>>();
  readonly #underWay = new Map<string, number>();
  /** By node, those whose turn came while it had enough to answer. */
  readonly #parked = new Map<string, Set<T>>();
  #count = 0;

  add(one: T, options: { readonly isFirst: boolean }): void {
    const { cluster } = one.target;
    const line = this.#lines.get(cluster) ?? { first: new Set(), again: new Set() };
    this.#lines.set(cluster, line);
    (options.isFirst ? line.first : line.again).add(one);
  }

  /** It waits no more, wherever it waited. */
  remove(one: T): void {
    const line = this.#lines.get(one.target.cluster);
    line?.first.delete(one);
    line?.again.delete(one);
    this.#parked.get(nodeOf(one))?.delete(one);
  }

  /** Whether somebody waits who may be asked now. */
  get isWaiting(): boolean {
    if (this.#count >= maxAtOnce) return false;
    for (const { first, again } of this.#lines.values()) {
      if (first.size + again.size > 0) return true;
    }
    return false;
  }

  /** The next to be asked, who is under way from now on until `ended`. */
  next(): T | undefined {
    if (this.#count >= maxAtOnce) return undefined;
    // Each line once: those that are put back at the end had their turn.
    for (let left = this.#lines.size; left > 0; left -= 1) {
      const one = this.#fromNextLine();
      if (one === undefined) continue;
      const node = nodeOf(one);
      this.#underWay.set(node, (this.#underWay.get(node) ?? 0) + 1);
      this.#count += 1;
      return one;
    }
    return undefined;
  }

  ended(one: T): void {
    const node = nodeOf(one);
    const left = (this.#underWay.get(node) ?? 1) - 1;
    if (left === 0) this.#underWay.delete(node);
    else this.#underWay.set(node, left);
    this.#count -= 1;
    const parked = this.#parked.get(node);
    if (parked === undefined) return;
    const [next] = parked;
    if (next !== undefined) {
      parked.delete(next);
      this.add(next, { isFirst: true });
    }
    if (parked.size === 0) this.#parked.delete(node);
  }

  #fromNextLine(): T | undefined {
    const [entry] = this.#lines;
    if (entry === undefined) return undefined;
    const [cluster, line] = entry;
    const one = this.#fromLine(line);
    this.#lines.delete(cluster);
    if (line.first.size + line.again.size > 0) this.#lines.set(cluster, line);
    return one;
  }

  #fromLine({ first, again }: Line<T>): T | undefined {
    for (const waiting of [first, again]) {
      for (const one of waiting) {
        waiting.delete(one);
        const node = nodeOf(one);
        if ((this.#underWay.get(node) ?? 0) < maxPerNode) return one;
        const parked = this.#parked.get(node) ?? new Set();
        this.#parked.set(node, parked.add(one));
      }
    }
    return undefined;
  }
}

/** An endpoint without a known node is on a machine of its own, as far as anybody knows. */
function nodeOf({ target }: Waiting): string {
  return `${target.cluster} ${target.node ?? target.address}`;
}
