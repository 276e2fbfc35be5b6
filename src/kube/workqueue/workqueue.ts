// Keys waiting to be worked on, with the semantics of client-go's work queue: first in, first out;
// a key is in it once and keeps its place; a key is never worked on twice at once; a key added
// while in work comes back when that work is done. Added to that are two lanes, so that a change
// that has just happened does not wait behind a resync of everything, and turns of namespaces, where
// that is asked for, so that the keys of one do not wait behind thousands of another. With one lane in
// use and without turns the order is exactly client-go's.

import type { Registry } from "prom-client";
import { assertCostly } from "../../environment/assert.ts";
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { splitObjectKey } from "../kinds/kind.ts";
import { defaultRateLimiter, fairRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { WorkqueueDelays } from "./workqueue-delays.ts";
import { WorkqueueLane } from "./workqueue-lane.ts";
import { type QueueMetrics, queueMetrics } from "./workqueue-metrics.ts";
import { type KeyLine, WorkqueueTurns } from "./workqueue-turns.ts";

/** `fresh`: something happened. `resync`: going over everything again, in case. */
export type Lane = "fresh" | "resync";

/**
 * While both lanes hold keys, every tenth key comes from `resync`: it cannot starve, and costs
 * fresh changes at most a tenth of the throughput.
 */
export const freshInARowMax = 9;

export interface WorkqueueOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** The `name` label of the metrics; one queue per name and registry. */
  readonly name: string;
  /**
   * `keys`: first in, first out. `namespaces`: those of the keys, `namespace/name`, take turns, and so
   * do their retries; a key without a slash counts as one of the namespace "". `keys` when absent.
   */
  readonly fairness?: "keys" | "namespaces";
  /** With it, the groups of the keys take turns first, and then the namespaces of each group. */
  readonly groupOf?: (key: string) => string;
  /** client-go's default unless given, for each namespace where they take turns. */
  readonly rateLimiter?: RateLimiter;
  /** No metrics when both this and `metrics` are absent. */
  readonly registry?: Registry;
  /** Metrics in another form than Kubernetes' present one. */
  readonly metrics?: QueueMetrics;
}

interface Dirty {
  lane: Lane;
  readonly addedAt: MonotonicMs;
}

interface Processing {
  readonly lane: Lane;
  readonly startedAt: MonotonicMs;
}

/** Someone waiting in `get`; only while no key is queued. */
interface Getter {
  resolve(key: string | undefined): void;
}

export class Workqueue {
  readonly name: string;
  readonly #clock: Clock;
  readonly #rateLimiter: RateLimiter;
  readonly #metrics: QueueMetrics | undefined;

  /** The order of work. A key here is dirty, is not processing, and is in the lane `dirty` says. */
  readonly #lanes: Readonly<Record<Lane, KeyLine>>;
  /** Every key that needs work, queued or to be queued again when the work on it is done. */
  readonly #dirty = new Map<string, Dirty>();
  /** Every key handed out by `get` and not yet given back to `done`. */
  readonly #processing = new Map<string, Processing>();
  /** Keys to be added later; independent of the other sets, as in client-go. */
  readonly #delays: WorkqueueDelays<Lane>;
  /** In order of arrival. Empty unless both lanes are. */
  readonly #getters = new Set<Getter>();
  /** Fresh keys taken since the last resync key, while resync keys were waiting. */
  #freshInARow = 0;
  #isShuttingDown = false;
  /** Those who wait for the last key in work; only after `shutDownWithDrain`. */
  readonly #drainWaiters = new Set<() => void>();

  constructor(options: WorkqueueOptions) {
    this.name = options.name;
    this.#clock = options.clock;
    const isFair = options.fairness === "namespaces";
    const { groupOf } = options;
    const newLine = () => (isFair ? new WorkqueueTurns(namespaceOf) : new WorkqueueLane());
    const newLane = () =>
      groupOf === undefined ? newLine() : new WorkqueueTurns(groupOf, newLine);
    this.#lanes = { fresh: newLane(), resync: newLane() };
    this.#rateLimiter =
      options.rateLimiter ??
      (isFair ? fairRateLimiter(options, namespaceOf) : defaultRateLimiter(options));
    this.#delays = new WorkqueueDelays<Lane>({
      clock: options.clock,
      timers: options.timers,
      onReady: (key, lane) => this.add(key, lane),
      merge: (known, added) => (known === "fresh" ? known : added),
    });
    if (options.metrics !== undefined) {
      this.#metrics = options.metrics;
    } else if (options.registry !== undefined) {
      this.#metrics = queueMetrics(options.registry, options.name, () => this.#runningMs());
    }
  }

  /** Keys queued; not those in work. */
  get length(): number {
    return this.#lanes.fresh.size + this.#lanes.resync.size;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /**
   * Marks the key as needing work. A key already queued keeps its place, unless it waits in the
   * resync lane and is now fresh: then it moves to the end of the fresh lane.
   */
  add(key: string, lane: Lane = "fresh"): void {
    if (this.#isShuttingDown) return;
    const known = this.#dirty.get(key);
    if (known !== undefined) {
      if (known.lane === "resync" && lane === "fresh") this.#moveForward(key, known);
      return;
    }
    this.#metrics?.added();
    this.#dirty.set(key, { lane, addedAt: this.#clock.monotonicMs() });
    if (!this.#processing.has(key)) this.#enqueue(key, lane);
    this.#check();
  }

  /** Adds the key after a delay. Of several delays for one key the earliest counts. */
  addAfter(key: string, delayMs: number, lane: Lane = "fresh"): void {
    if (this.#isShuttingDown) return;
    this.#metrics?.retried();
    if (!(delayMs > 0)) {
      this.add(key, lane);
      return;
    }
    this.#delays.put(key, delayMs, lane);
  }

  /** Adds the key after the rate limiter's delay: for retries. It stays in its lane. */
  addRateLimited(key: string, lane: Lane = this.#processing.get(key)?.lane ?? "fresh"): void {
    this.addAfter(key, this.#rateLimiter.when(key), lane);
  }

  /** The key needs no more retries. Whether it is queued does not change. */
  forget(key: string): void {
    this.#rateLimiter.forget(key);
  }

  numRequeues(key: string): number {
    return this.#rateLimiter.numRequeues(key);
  }

  /**
   * The next key; give it back with `done`. Undefined when the queue is shut down and empty.
   * Rejects with the signal's reason if it aborts first; no key is lost then.
   */
  async get(signal?: AbortSignal): Promise<string | undefined> {
    signal?.throwIfAborted();
    const lane = this.#nextLane();
    if (lane !== undefined) return this.#take(lane);
    if (this.#isShuttingDown) return undefined;
    return await this.#waitForKey(signal);
  }

  /** The work on a key has ended, well or not. If it became dirty meanwhile it is queued again. */
  done(key: string): void {
    const processing = this.#processing.get(key);
    if (processing === undefined) return;
    this.#processing.delete(key);
    this.#metrics?.finished(elapsedMs(processing.startedAt, this.#clock.monotonicMs()));
    const dirty = this.#dirty.get(key);
    if (dirty !== undefined) this.#enqueue(key, dirty.lane);
    this.#check();
    this.#reportDrained();
  }

  /** From now on adds are ignored; queued keys can still be taken. Idempotent. */
  shutDown(): void {
    this.#beginShutDown();
    for (const resolve of this.#drainWaiters) resolve();
    this.#drainWaiters.clear();
  }

  /**
   * Shuts down and resolves when every queued key has been taken and done. Needs workers that go
   * on; a later `shutDown` ends the wait at once.
   */
  async shutDownWithDrain(): Promise<void> {
    this.#beginShutDown();
    if (this.#isDrained()) return;
    await new Promise<void>((resolve) => this.#drainWaiters.add(resolve));
  }

  #enqueue(key: string, lane: Lane): void {
    this.#lanes[lane].push(key);
    const [getter] = this.#getters;
    if (getter === undefined) return;
    this.#getters.delete(getter);
    getter.resolve(this.#take(lane));
  }

  #moveForward(key: string, dirty: Dirty): void {
    dirty.lane = "fresh";
    if (this.#lanes.resync.remove(key)) this.#lanes.fresh.push(key);
    this.#check();
  }

  #nextLane(): Lane | undefined {
    if (this.#lanes.resync.size === 0) return this.#lanes.fresh.size === 0 ? undefined : "fresh";
    if (this.#lanes.fresh.size === 0) return "resync";
    return this.#freshInARow < freshInARowMax ? "fresh" : "resync";
  }

  #take(lane: Lane): string | undefined {
    this.#freshInARow = lane === "fresh" && this.#lanes.resync.size > 0 ? this.#freshInARow + 1 : 0;
    const key = this.#lanes[lane].shift();
    const dirty = key === undefined ? undefined : this.#dirty.get(key);
    if (key === undefined || dirty === undefined) return undefined;
    const startedAt = this.#clock.monotonicMs();
    this.#dirty.delete(key);
    this.#processing.set(key, { lane: dirty.lane, startedAt });
    this.#metrics?.taken(elapsedMs(dirty.addedAt, startedAt));
    this.#check();
    return key;
  }

  #check(): void {
    assertCostly(() => this.#isInStep(), "queued keys are dirty and not in work", this.#dirty.size);
  }

  #isInStep(): boolean {
    let queued = 0;
    for (const [lane, keys] of Object.entries(this.#lanes)) {
      for (const key of keys.keys()) {
        if (this.#dirty.get(key)?.lane !== lane || this.#processing.has(key)) return false;
        queued += 1;
      }
    }
    const waiting = [...this.#dirty.keys()].filter((key) => !this.#processing.has(key));
    return queued === waiting.length && queued === this.length;
  }

  #waitForKey(signal: AbortSignal | undefined): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        if (this.#getters.delete(getter)) reject(signal?.reason);
      };
      const getter: Getter = {
        resolve: (key) => {
          signal?.removeEventListener("abort", abort);
          resolve(key);
        },
      };
      this.#getters.add(getter);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  #beginShutDown(): void {
    if (this.#isShuttingDown) return;
    this.#isShuttingDown = true;
    this.#delays.clear();
    for (const getter of this.#getters) getter.resolve(undefined);
    this.#getters.clear();
    this.#metrics?.closed();
  }

  #isDrained(): boolean {
    return this.#processing.size === 0 && this.length === 0;
  }

  #reportDrained(): void {
    if (!this.#isDrained()) return;
    for (const resolve of this.#drainWaiters) resolve();
    this.#drainWaiters.clear();
  }

  *#runningMs(): Iterable<number> {
    const now = this.#clock.monotonicMs();
    for (const { startedAt } of this.#processing.values()) yield elapsedMs(startedAt, now);
  }
}

function namespaceOf(key: string): string {
  return splitObjectKey(key).namespace;
}
