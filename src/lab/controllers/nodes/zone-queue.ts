// The lost nodes of one zone, emptied one after another at the zone's rate (RateLimitedTimedQueue of
// pkg/controller/nodelifecycle/scheduler). The real one looks ten times a second whether it may;
// here a timer waits for such a moment, which costs nothing while there is nothing to do.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  monotonicAfter,
} from "../../../environment/clock.ts";
import type { CancelTimer, Timers } from "../../../environment/timers.ts";

export interface ZoneQueueOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Nodes a second at first. */
  readonly rate: number;
  /** Empties a node; true when that worked, or is no longer wanted; otherwise it is tried again. */
  readonly empty: (node: string) => Promise<boolean>;
}

/** rate_limited_queue.go NodeEvictionPeriod: by then the watch shows what made the node lost. */
const lookEveryMs = 100;

export class ZoneQueue {
  readonly #options: ZoneQueueOptions;
  /** In the order they were lost; the false ones have been emptied and wait to be heard of. */
  readonly #nodes = new Map<string, boolean>();
  #rate: number;
  /** When the next may be emptied: the bucket of the rate holds one token. */
  #nextAt: MonotonicMs;
  #cancel: CancelTimer | undefined;
  #busy: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: ZoneQueueOptions) {
    this.#options = options;
    this.#rate = options.rate;
    this.#nextAt = options.clock.monotonicMs();
  }

  /** False when the node is in the queue already, or has been emptied since it was removed. */
  add(node: string): boolean {
    if (this.#nodes.has(node)) return false;
    this.#nodes.set(node, true);
    this.#wake();
    return true;
  }

  /** True when it was there: the node is heard of again, or is to be queued anew. */
  remove(node: string): boolean {
    return this.#nodes.delete(node);
  }

  setRate(rate: number): void {
    if (rate === this.#rate) return;
    const now = this.#options.clock.monotonicMs();
    // Whoever waits for the old rate waits for the new one from now on.
    const isWaiting = this.#rate <= 0 || this.#nextAt > now;
    if (isWaiting && rate > 0) this.#nextAt = monotonicAfter(now, 1000 / rate);
    this.#rate = rate;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wake();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#busy;
  }

  #wake(): void {
    const isIdle = this.#cancel === undefined && this.#busy === undefined;
    if (this.#isStopped || !isIdle || this.#rate <= 0 || this.#next() === undefined) return;
    const waitMs = elapsedMs(this.#options.clock.monotonicMs(), this.#nextAt);
    this.#cancel = this.#options.timers.after(Math.max(waitMs, lookEveryMs), () => {
      this.#cancel = undefined;
      this.#busy = this.#emptyNext().finally(() => {
        this.#busy = undefined;
        this.#wake();
      });
    });
  }

  #next(): string | undefined {
    for (const [node, isWaiting] of this.#nodes) if (isWaiting) return node;
    return undefined;
  }

  async #emptyNext(): Promise<void> {
    const node = this.#next();
    if (node === undefined) return;
    const { clock, empty } = this.#options;
    this.#nextAt = monotonicAfter(clock.monotonicMs(), 1000 / this.#rate);
    const isDone = await empty(node);
    if (isDone && this.#nodes.has(node)) this.#nodes.set(node, false);
  }
}
