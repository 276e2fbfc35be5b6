// Items by the time at which they are due, the earliest first; of equal times the one that was put in
// first, so that a run repeats. A binary heap in which each item is at most once and knows its place,
// so that it can be moved or taken out. Its keys are in typed arrays, because a simulated run takes
// millions of events.
import { assertCostly } from "./assert.ts";

/** The queue's fields on an item; only the queue may write them. */
export interface Due {
  dueAt: number;
  /** Where it is in the heap; -1 when it is in none. */
  place: number;
}

const initialCapacity = 16;

export class DueQueue<T extends Due> {
  /** Invariant: `#heap[i].place === i`. */
  readonly #heap: T[] = [];
  /** Invariant: slot i's key is (#times[i], #orders[i]); no parent's key is above a child's. */
  #times = new Float64Array(initialCapacity);
  #orders = new Float64Array(initialCapacity);
  #nextOrder = 0;

  get size(): number {
    return this.#heap.length;
  }

  get first(): T | undefined {
    return this.#heap[0];
  }

  /** The item that is due first, if that is not later than `now`. */
  firstDue(now: number): T | undefined {
    const first = this.#heap[0];
    return first !== undefined && first.dueAt <= now ? first : undefined;
  }

  /** In no particular order. */
  items(): readonly T[] {
    return this.#heap;
  }

  /** Puts it in, or moves it; among equal times it keeps the order in which it was put in. */
  set(item: T, dueAt: number): void {
    if (item.place === -1) this.#insert(item, dueAt);
    else if (item.dueAt !== dueAt) this.#reschedule(item, dueAt);
    this.#check();
  }

  delete(item: T): void {
    const { place } = item;
    if (place === -1) return;
    item.place = -1;
    const order = this.#orders[this.#heap.length - 1] ?? 0;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    if (this.#precedes(last.dueAt, order, place)) this.#rise(place, last, order);
    else this.#sink(place, last, order);
    this.#check();
  }

  clear(): void {
    for (const item of this.#heap) item.place = -1;
    this.#heap.length = 0;
  }

  #insert(item: T, dueAt: number): void {
    const slot = this.#heap.push(item) - 1;
    if (slot === this.#times.length) this.#grow();
    item.dueAt = dueAt;
    this.#rise(slot, item, this.#nextOrder++);
  }

  #reschedule(item: T, dueAt: number): void {
    const isEarlier = dueAt < item.dueAt;
    item.dueAt = dueAt;
    const order = this.#orders[item.place] ?? 0;
    if (isEarlier) this.#rise(item.place, item, order);
    else this.#sink(item.place, item, order);
  }

  /** Puts the item at this slot or above. */
  #rise(from: number, item: T, order: number): void {
    let slot = from;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      if (!this.#precedes(item.dueAt, order, parent)) break;
      this.#move(parent, slot);
      slot = parent;
    }
    this.#put(slot, item, order);
  }

  /** Puts the item at this slot or below. */
  #sink(from: number, item: T, order: number): void {
    const length = this.#heap.length;
    let slot = from;
    for (;;) {
      let child = 2 * slot + 1;
      if (child >= length) break;
      if (child + 1 < length && this.#isBefore(child + 1, child)) child += 1;
      if (this.#precedes(item.dueAt, order, child)) break;
      this.#move(child, slot);
      slot = child;
    }
    this.#put(slot, item, order);
  }

  #precedes(time: number, order: number, slot: number): boolean {
    const other = this.#times[slot] ?? 0;
    return time === other ? order < (this.#orders[slot] ?? 0) : time < other;
  }

  #isBefore(left: number, right: number): boolean {
    return this.#precedes(this.#times[left] ?? 0, this.#orders[left] ?? 0, right);
  }

  #move(from: number, to: number): void {
    const item = this.#heap[from];
    if (item !== undefined) this.#put(to, item, this.#orders[from] ?? 0);
  }

  #put(slot: number, item: T, order: number): void {
    this.#heap[slot] = item;
    this.#times[slot] = item.dueAt;
    this.#orders[slot] = order;
    item.place = slot;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const orders = new Float64Array(times.length);
    times.set(this.#times);
    orders.set(this.#orders);
    this.#times = times;
    this.#orders = orders;
  }
  #check(): void {
    assertCostly(() => this.#isHeap(), "a queue of due items is a heap", this.#heap.length);
  }

  #isHeap(): boolean {
    for (let slot = 0; slot < this.#heap.length; slot += 1) {
      const item = this.#heap[slot];
      if (item?.place !== slot || item.dueAt !== this.#times[slot]) return false;
      if (slot > 0 && !this.#isBefore((slot - 1) >> 1, slot)) return false;
    }
    return true;
  }
}
