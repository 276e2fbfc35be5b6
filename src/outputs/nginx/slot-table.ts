// A number for every endpoint, under which nginx keeps its counters and suspect marks. nginx has a row
// for each of so many; a row that was given back is used again only when no fresh one is left, the
// oldest first, and then under a number that is higher by the number of rows. So nginx can tell one
// endpoint of a row from the next.
//
// A namespace may hold as many as are left: one alone gets half of them, two a third each, and there is
// always one for an endpoint of another namespace.
// Invariant: a number never means two endpoints, and a row at most one at a time.
import { assert, assertCostly } from "../../environment/assert.ts";

/** As many as nginx has rows for (proxy/lua/lockstep/rows.lua). */
export const slotCount = 131_072;

/** Shared by the endpoints beyond these: served, but neither counted nor suspected. */
export const uncountedSlot = 0;

interface Held {
  readonly slot: number;
  /** The namespace of the first service that used it. */
  readonly namespace: string;
  users: number;
}

/** The endpoint in a slot. */
export interface SlotHolder {
  readonly endpoint: string;
  readonly cluster: string;
}

export class SlotTable {
  readonly #slots: number;
  readonly #held = new Map<string, Held>();
  readonly #holders = new Map<number, SlotHolder>();
  /** How many a namespace holds. */
  readonly #heldBy = new Map<string, number>();
  /** In the order in which they were given back; those before `#firstFree` are in use again. */
  #free: number[] = [];
  #firstFree = 0;
  #nextFresh = uncountedSlot + 1;

  constructor(options: { readonly slots?: number } = {}) {
    this.#slots = options.slots ?? slotCount;
  }

  /** The slot of an endpoint of the namespace's service; each call needs one `release`. */
  acquire(endpoint: string, { cluster = "", namespace = "" } = {}): number {
    const held = this.#held.get(endpoint);
    if (held !== undefined) {
      held.users += 1;
      return held.slot;
    }
    const heldBy = this.#heldBy.get(namespace) ?? 0;
    if (heldBy >= this.#left) return uncountedSlot;
    const slot = this.#take();
    if (slot === uncountedSlot) return slot;
    assert(!this.#holders.has(slot), "a slot means one endpoint");
    this.#heldBy.set(namespace, heldBy + 1);
    this.#held.set(endpoint, { slot, namespace, users: 1 });
    this.#holders.set(slot, { endpoint, cluster });
    this.#check();
    return slot;
  }

  release(endpoint: string): void {
    const held = this.#held.get(endpoint);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    this.#held.delete(endpoint);
    const heldBy = (this.#heldBy.get(held.namespace) ?? 0) - 1;
    if (heldBy > 0) this.#heldBy.set(held.namespace, heldBy);
    else this.#heldBy.delete(held.namespace);
    this.#holders.delete(held.slot);
    this.#free.push(held.slot);
    this.#check();
  }

  /** The endpoint of these counters. */
  endpointAt(slot: number): string | undefined {
    return this.#holders.get(slot)?.endpoint;
  }

  holderOf(slot: number): SlotHolder | undefined {
    return this.#holders.get(slot);
  }

  /** Undefined when it has none of its own. */
  slotOf(endpoint: string): number | undefined {
    return this.#held.get(endpoint)?.slot;
  }

  has(endpoint: string): boolean {
    return this.#held.has(endpoint);
  }

  #check(): void {
    const size = this.#held.size + this.#free.length - this.#firstFree;
    assertCostly(() => this.#isInStep(), "a row is of one endpoint at a time", size);
  }

  #isInStep(): boolean {
    const rows = new Set([...this.#holders.keys()].map((slot) => slot % this.#slots));
    const heldBy = [...this.#heldBy.values()].reduce((sum, count) => sum + count, 0);
    const isHeld = ([endpoint, { slot }]: [string, Held]) => this.endpointAt(slot) === endpoint;
    return (
      rows.size === this.#held.size &&
      this.#holders.size === this.#held.size &&
      heldBy === this.#held.size &&
      [...this.#held].every(isHeld) &&
      !this.#free.slice(this.#firstFree).some((slot) => rows.has(slot % this.#slots))
    );
  }

  get #left(): number {
    return this.#slots - this.#nextFresh + this.#free.length - this.#firstFree;
  }

  #take(): number {
    if (this.#nextFresh < this.#slots) {
      this.#nextFresh += 1;
      return this.#nextFresh - 1;
    }
    const oldest = this.#free[this.#firstFree];
    if (oldest === undefined) return uncountedSlot;
    this.#firstFree += 1;
    if (this.#firstFree * 2 > this.#free.length) {
      this.#free = this.#free.slice(this.#firstFree);
      this.#firstFree = 0;
    }
    return oldest + this.#slots;
  }
}
