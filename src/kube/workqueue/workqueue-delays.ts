// Keys that become ready later, each once, at the earliest time anyone asked for. A binary heap by
// ready time with one timer for its head; keys with equal times leave in the order they came, so
// that a run repeats.
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs, monotonicAfter } from "../../environment/clock.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export interface WorkqueueDelaysOptions<Data> {
  readonly clock: Clock;
  readonly timers: Timers;
  onReady(key: string, data: Data): void;
  /** What to keep when a key that is waiting is put again. */
  merge(known: Data, added: Data): Data;
}

interface Entry<Data> {
  readonly key: string;
  readyAt: MonotonicMs;
  data: Data;
  readonly sequence: number;
  index: number;
}

export class WorkqueueDelays<Data> {
  readonly #options: WorkqueueDelaysOptions<Data>;
  /** Each entry is no later than its two children, and `heap[entry.index] === entry`. */
  readonly #heap: Entry<Data>[] = [];
  /** Exactly the entries of the heap, by key. */
  readonly #entries = new Map<string, Entry<Data>>();
  #sequence = 0;
  /** Set while the heap is not empty, for its earliest time or before. */
  #timer: { readonly at: MonotonicMs; readonly cancel: CancelTimer } | undefined;

  constructor(options: WorkqueueDelaysOptions<Data>) {
    this.#options = options;
  }

  /** Remembers the key, or moves it forward if it was to be ready later. */
  put(key: string, delayMs: number, data: Data): void {
    const readyAt = monotonicAfter(this.#options.clock.monotonicMs(), delayMs);
    const known = this.#entries.get(key);
    if (known === undefined) {
      this.#insert({ key, readyAt, data, sequence: this.#sequence++, index: this.#heap.length });
    } else {
      known.data = this.#options.merge(known.data, data);
      if (readyAt < known.readyAt) {
        known.readyAt = readyAt;
        this.#rise(known);
      }
    }
    this.#armTimer();
  }

  /** Forgets every key. */
  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #armTimer(): void {
    const at = this.#heap[0]?.readyAt;
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const delayMs = elapsedMs(this.#options.clock.monotonicMs(), at);
    const cancel = this.#options.timers.after(delayMs, () => {
      this.#timer = undefined;
      this.#releaseReady();
      this.#armTimer();
    });
    this.#timer = { at, cancel };
  }

  #releaseReady(): void {
    const now = this.#options.clock.monotonicMs();
    for (;;) {
      const entry = this.#heap[0];
      // A real timer may fire a little early; the rest waits for the next one.
      if (entry === undefined || entry.readyAt > now) return;
      this.#removeFirst(entry);
      this.#options.onReady(entry.key, entry.data);
    }
  }

  #insert(entry: Entry<Data>): void {
    this.#heap.push(entry);
    this.#entries.set(entry.key, entry);
    this.#rise(entry);
  }

  #removeFirst(first: Entry<Data>): void {
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#sink(last);
    }
    this.#entries.delete(first.key);
  }

  #rise(entry: Entry<Data>): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      const index = parent.index;
      this.#place(parent, entry.index);
      this.#place(entry, index);
    }
  }

  #sink(entry: Entry<Data>): void {
    for (;;) {
      const left = this.#heap[2 * entry.index + 1];
      const right = this.#heap[2 * entry.index + 2];
      if (left === undefined) return;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(child, entry)) return;
      const index = child.index;
      this.#place(child, entry.index);
      this.#place(entry, index);
    }
  }

  #place(entry: Entry<Data>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.readyAt < b.readyAt || (a.readyAt === b.readyAt && a.sequence < b.sequence);
}
