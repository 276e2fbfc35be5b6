// A small number for every endpoint, under which nginx keeps its counters and suspect marks. A slot
// that was given back is used again only when no fresh one is left, the oldest first: by then no
// worker remembers whose it was.
// Invariant: a slot belongs to at most one endpoint, and to it as long as anyone refers to it.

/** As many as nginx has rows for (proxy/lua/lockstep/rows.lua). */
export const slotCount = 131_072;

/** Shared by the endpoints beyond that number: served, but neither counted nor suspected. */
export const uncountedSlot = 0;

interface Held {
  readonly slot: number;
  users: number;
}

export class SlotTable {
  readonly #slots: number;
  readonly #held = new Map<string, Held>();
  readonly #endpoints = new Map<number, string>();
  /** In the order in which they were given back; a set keeps it. */
  readonly #free = new Set<number>();
  #nextFresh = uncountedSlot + 1;

  constructor(options: { readonly slots?: number } = {}) {
    this.#slots = options.slots ?? slotCount;
  }

  /** The endpoint's slot; each call needs one `release`. */
  acquire(endpoint: string): number {
    const held = this.#held.get(endpoint);
    if (held !== undefined) {
      held.users += 1;
      return held.slot;
    }
    const slot = this.#take();
    if (slot === uncountedSlot) return slot;
    this.#held.set(endpoint, { slot, users: 1 });
    this.#endpoints.set(slot, endpoint);
    return slot;
  }

  release(endpoint: string): void {
    const held = this.#held.get(endpoint);
    if (held === undefined) return;
    held.users -= 1;
    if (held.users > 0) return;
    this.#held.delete(endpoint);
    this.#endpoints.delete(held.slot);
    this.#free.add(held.slot);
  }

  /** Whose counters these are. */
  endpointAt(slot: number): string | undefined {
    return this.#endpoints.get(slot);
  }

  #take(): number {
    if (this.#nextFresh < this.#slots) {
      this.#nextFresh += 1;
      return this.#nextFresh - 1;
    }
    const [oldest] = this.#free;
    if (oldest === undefined) return uncountedSlot;
    this.#free.delete(oldest);
    return oldest;
  }
}
