// Turns of owners that want more than can be done at once. Owners take turns, however much one of
// them has waiting, and each has a bounded number running. Invariant: an owner is in `#lines`
// exactly while it has something waiting, and the owner that had the last turn is at the end. An
// item of several owners waits in the line of each.
import { assert, assertCostly } from "../environment/assert.ts";

export interface Turn<T> {
  readonly one: T;
  /** The owner whose turn it is. */
  readonly owner: string;
}

export class OwnerTurns<T> {
  readonly #mostPerOwner: number;
  readonly #lines = new Map<string, Set<T>>();
  readonly #underWay = new Map<string, number>();

  constructor(options: { readonly mostPerOwner: number }) {
    this.#mostPerOwner = options.mostPerOwner;
  }

  add(one: T, owner: string): void {
    const line = this.#lines.get(owner) ?? new Set();
    this.#lines.set(owner, line.add(one));
    this.#check();
  }

  /** It waits no more for this owner. */
  remove(one: T, owner: string): void {
    const line = this.#lines.get(owner);
    line?.delete(one);
    if (line?.size === 0) this.#lines.delete(owner);
    this.#check();
  }

  /** The next to be done; its owner has it under way until `ended`. Others may have it waiting. */
  next(): Turn<T> | undefined {
    for (const [owner, line] of this.#lines) {
      const underWay = this.#underWay.get(owner) ?? 0;
      if (underWay >= this.#mostPerOwner) continue;
      for (const one of line) {
        this.#lines.delete(owner);
        line.delete(one);
        if (line.size > 0) this.#lines.set(owner, line);
        this.#underWay.set(owner, underWay + 1);
        this.#check();
        return { one, owner };
      }
    }
    return undefined;
  }

  ended({ owner }: Turn<T>): void {
    const underWay = this.#underWay.get(owner);
    assert(underWay !== undefined, "what has ended was under way");
    const left = underWay - 1;
    if (left === 0) this.#underWay.delete(owner);
    else this.#underWay.set(owner, left);
  }

  #check(): void {
    const isWaiting = () => [...this.#lines.values()].every(({ size }) => size > 0);
    assertCostly(isWaiting, "an owner has a line while something waits", this.#lines.size);
  }
}
