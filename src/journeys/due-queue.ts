// What has to be looked at when, the earliest first: a heap in which each item is at most once and
// knows its place, so that it can be moved or taken out. Looking at what is due then costs nothing
// for all that is not, however much is pending.

/** What the queue keeps on an item; only the queue may write it. */
export interface Due {
  dueAt: number;
  /** Where it is in the heap; -1 when it is in none. */
  place: number;
}

/** Invariant: no item is due before its parent at (place - 1) / 2, and each knows its place. */
export class DueQueue<T extends Due> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The item that is due first, if that is not later than `now`. */
  firstDue(now: number): T | undefined {
    const first = this.#heap[0];
    return first !== undefined && first.dueAt <= now ? first : undefined;
  }

  /** Puts it in or moves it. */
  set(item: T, dueAt: number): void {
    if (item.place !== -1 && item.dueAt === dueAt) return;
    item.dueAt = dueAt;
    if (item.place === -1) item.place = this.#heap.push(item) - 1;
    this.#settle(item);
  }

  delete(item: T): void {
    const { place } = item;
    if (place === -1) return;
    item.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    this.#put(last, place);
    this.#settle(last);
  }

  #settle(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  #rise(item: T): void {
    for (;;) {
      const parent = this.#heap[(item.place - 1) >> 1];
      if (item.place === 0 || parent === undefined || parent.dueAt <= item.dueAt) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: T): void {
    for (;;) {
      const left = this.#heap[2 * item.place + 1];
      const right = this.#heap[2 * item.place + 2];
      const child =
        right !== undefined && left !== undefined && right.dueAt < left.dueAt ? right : left;
      if (child === undefined || child.dueAt >= item.dueAt) return;
      this.#swap(child, item);
    }
  }

  #swap(a: T, b: T): void {
    const { place } = a;
    this.#put(a, b.place);
    this.#put(b, place);
  }

  #put(item: T, place: number): void {
    this.#heap[place] = item;
    item.place = place;
  }
}
