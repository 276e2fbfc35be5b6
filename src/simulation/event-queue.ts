// What is going to happen, ordered by (time, sequence): two events of the same instant run in the
// order in which they were scheduled. A binary heap with its keys in typed arrays, because a run
// takes millions of events. Cancelled events stay where they are until they are popped or until
// they are the majority; so the heap is never more than twice as large as what is pending.

export interface ScheduledEvent {
  readonly atMs: number;
  readonly sequence: number;
  /** Who scheduled it; its events are dropped together when it ends. */
  readonly owner: object | undefined;
  /** Undefined once it ran or was cancelled. */
  callback: (() => void) | undefined;
}

const initialCapacity = 1024;

/** Below this, popping the cancelled ones costs less than compacting. */
const compactionFloor = 256;

export class EventQueue {
  /** Invariant: slot i's key is (#times[i], #sequences[i]); no parent's key is above a child's. */
  #times = new Float64Array(initialCapacity);
  #sequences = new Float64Array(initialCapacity);
  readonly #events: ScheduledEvent[] = [];
  #nextSequence = 0;
  /** Cancelled events still in the heap. */
  #cancelled = 0;

  /** Events that will run. */
  get size(): number {
    return this.#events.length - this.#cancelled;
  }

  /** What it holds in memory, cancelled events included. */
  get slots(): number {
    return this.#events.length;
  }

  schedule(atMs: number, owner: object | undefined, callback: () => void): ScheduledEvent {
    const event: ScheduledEvent = { atMs, sequence: this.#nextSequence++, owner, callback };
    const slot = this.#events.length;
    if (slot === this.#times.length) this.#grow();
    this.#events.push(event);
    this.#siftUp(slot, event);
    return event;
  }

  cancel(event: ScheduledEvent): void {
    if (event.callback === undefined) return;
    event.callback = undefined;
    this.#cancelled += 1;
    if (this.#cancelled > compactionFloor && this.#cancelled * 2 > this.#events.length) {
      this.#keep((kept) => kept.callback !== undefined);
    }
  }

  cancelOwnedBy(owner: object): void {
    this.#keep((kept) => kept.callback !== undefined && kept.owner !== owner);
  }

  clear(): void {
    this.#keep(() => false);
  }

  /** Removes and returns the earliest event; the caller takes its callback. */
  pop(): ScheduledEvent | undefined {
    for (;;) {
      const first = this.#events[0];
      if (first === undefined) return undefined;
      const last = this.#events.pop();
      if (last !== undefined && last !== first) this.#siftDown(0, last);
      if (first.callback !== undefined) return first;
      this.#cancelled -= 1;
    }
  }

  #keep(wanted: (event: ScheduledEvent) => boolean): void {
    const kept: ScheduledEvent[] = [];
    for (const event of this.#events) {
      if (wanted(event)) kept.push(event);
      else event.callback = undefined;
    }
    this.#events.length = 0;
    this.#cancelled = 0;
    for (const event of kept) {
      const slot = this.#events.length;
      this.#events.push(event);
      this.#siftUp(slot, event);
    }
  }

  #siftUp(start: number, event: ScheduledEvent): void {
    let slot = start;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      if (!this.#precedes(event, parent)) break;
      this.#move(parent, slot);
      slot = parent;
    }
    this.#place(slot, event);
  }

  #siftDown(start: number, event: ScheduledEvent): void {
    const length = this.#events.length;
    let slot = start;
    for (;;) {
      let child = 2 * slot + 1;
      if (child >= length) break;
      if (child + 1 < length && this.#slotPrecedes(child + 1, child)) child += 1;
      if (this.#precedes(event, child)) break;
      this.#move(child, slot);
      slot = child;
    }
    this.#place(slot, event);
  }

  #precedes(event: ScheduledEvent, slot: number): boolean {
    const time = this.#times[slot] ?? 0;
    if (event.atMs !== time) return event.atMs < time;
    return event.sequence < (this.#sequences[slot] ?? 0);
  }

  #slotPrecedes(left: number, right: number): boolean {
    const leftTime = this.#times[left] ?? 0;
    const rightTime = this.#times[right] ?? 0;
    if (leftTime !== rightTime) return leftTime < rightTime;
    return (this.#sequences[left] ?? 0) < (this.#sequences[right] ?? 0);
  }

  #move(from: number, to: number): void {
    const event = this.#events[from];
    if (event !== undefined) this.#place(to, event);
  }

  #place(slot: number, event: ScheduledEvent): void {
    this.#events[slot] = event;
    this.#times[slot] = event.atMs;
    this.#sequences[slot] = event.sequence;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const sequences = new Float64Array(times.length);
    times.set(this.#times);
    sequences.set(this.#sequences);
    this.#times = times;
    this.#sequences = sequences;
  }
}
