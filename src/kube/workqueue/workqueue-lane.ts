// A first-in first-out list of keys from which any key can also be taken out of the middle. Every
// operation is O(1) however long the list: an array would shift, and a Set leaves holes at its
// front that each look at the first element walks over again.
import { assertCostly } from "../../environment/assert.ts";

interface Node {
  readonly key: string;
  previous: Node | undefined;
  next: Node | undefined;
}

export class WorkqueueLane {
  /** Every node between `#first` and `#last` is here under its key, and no other. */
  readonly #nodes = new Map<string, Node>();
  #first: Node | undefined;
  #last: Node | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  /** Appends a key that is not in the lane. */
  push(key: string): void {
    assertCostly(() => !this.#nodes.has(key), "a key is in a lane once");
    const node: Node = { key, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    this.#nodes.set(key, node);
    this.#check();
  }

  /** Takes the oldest key. */
  shift(): string | undefined {
    const key = this.#first?.key;
    if (key !== undefined) this.remove(key);
    return key;
  }

  /** True if the key was in the lane. */
  remove(key: string): boolean {
    const node = this.#nodes.get(key);
    if (node === undefined) return false;
    if (node.previous === undefined) this.#first = node.next;
    else node.previous.next = node.next;
    if (node.next === undefined) this.#last = node.previous;
    else node.next.previous = node.previous;
    this.#nodes.delete(key);
    this.#check();
    return true;
  }

  /** In their order. */
  *keys(): Generator<string, void, undefined> {
    for (let node = this.#first; node !== undefined; node = node.next) yield node.key;
  }

  #check(): void {
    assertCostly(() => this.#isLinked(), "a lane has each of its keys once", this.#nodes.size);
  }

  #isLinked(): boolean {
    let count = 0;
    let previous: Node | undefined;
    for (let node = this.#first; node !== undefined; node = node.next) {
      if (node.previous !== previous || this.#nodes.get(node.key) !== node) return false;
      previous = node;
      count += 1;
    }
    return previous === this.#last && count === this.#nodes.size;
  }
}
