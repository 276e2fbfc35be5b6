// Keys that become ready later, each once, at the earliest time anyone asked for. One timer is
// set, for the earliest; keys with equal times leave in the order they came.
import { assertCostly } from "../../environment/assert.ts";
import type { Clock } from "../../environment/clock.ts";
import { monotonicAfter } from "../../environment/clock.ts";
import { type Due, DueQueue } from "../../environment/due-queue.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";

export interface WorkqueueDelaysOptions<Data> {
  readonly clock: Clock;
  readonly timers: Timers;
  onReady(key: string, data: Data): void;
  /** Combines the data when a waiting key is added again. */
  merge(known: Data, added: Data): Data;
}

interface Entry<Data> extends Due {
  readonly key: string;
  data: Data;
}

export class WorkqueueDelays<Data> {
  readonly #options: WorkqueueDelaysOptions<Data>;
  /** By the monotonic time at which each is ready. */
  readonly #queue = new DueQueue<Entry<Data>>();
  /** Exactly the entries of the queue, by key. */
  readonly #entries = new Map<string, Entry<Data>>();
  /** Set while the queue is not empty, for its earliest time or before. */
  #timer: { readonly at: number; readonly cancel: CancelTimer } | undefined;

  constructor(options: WorkqueueDelaysOptions<Data>) {
    this.#options = options;
  }

  /** Remembers the key, or moves it forward if it was to be ready later. */
  put(key: string, delayMs: number, data: Data): void {
    const readyAt = monotonicAfter(this.#options.clock.monotonicMs(), delayMs);
    const known = this.#entries.get(key);
    if (known === undefined) {
      const entry = { key, data, dueAt: readyAt, place: -1 };
      this.#entries.set(key, entry);
      this.#queue.set(entry, readyAt);
    } else {
      known.data = this.#options.merge(known.data, data);
      if (readyAt < known.dueAt) this.#queue.set(known, readyAt);
    }
    this.#armTimer();
  }

  /** Forgets every key. */
  clear(): void {
    this.#queue.clear();
    this.#entries.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #armTimer(): void {
    const at = this.#queue.first?.dueAt;
    if (at !== undefined && (this.#timer === undefined || this.#timer.at > at)) this.#arm(at);
    assertCostly(() => this.#isInStep(), "every delayed key is waited for");
  }

  #arm(at: number): void {
    this.#timer?.cancel();
    const delayMs = at - this.#options.clock.monotonicMs();
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
      // A real timer may fire a little early; the rest waits for the next one.
      const entry = this.#queue.firstDue(now);
      if (entry === undefined) return;
      this.#queue.delete(entry);
      this.#entries.delete(entry.key);
      this.#options.onReady(entry.key, entry.data);
    }
  }

  #isInStep(): boolean {
    const { first } = this.#queue;
    const isAwaited = this.#timer !== undefined && this.#timer.at <= (first?.dueAt ?? Infinity);
    return this.#entries.size === this.#queue.size && (first === undefined || isAwaited);
  }
}
