// The state of one resource in one API server, in order, and a window of recent changes, both at
// one revision, which may be older than that of the storage. Watchers are called for each change
// while it is applied, so a watcher that has received all is exactly at the revision of the cache.
import { assertCostly } from "../../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { RevisionLog } from "../storage/revision-log.ts";
import { SortedKeys } from "../storage/sorted-keys.ts";
import type { ListResult, StorageEvent } from "../storage/storage.ts";
import { CacheEvent } from "./cache-event.ts";
import type { CacheTally } from "./cache-metrics.ts";
import { decodeRecord, type EncodedObject, type RecordDecoder } from "./encoded-object.ts";

export interface CacheListener {
  /** Every change in the listener's namespace, in order. */
  onEvent(event: CacheEvent): void;
  /** The cache is gone: its server stopped, or has to list the storage again. */
  onEnd(): void;
}

/** A watch can resume within this time: a bookmark each minute, and some for reconnecting. */
const windowMs = 75_000;

/** Changes kept however old, as real servers do. */
const minWindowEvents = 100;

/** Changes kept however young; the largest window of a real server. */
const maxWindowEvents = 102_400;

interface WindowEntry {
  readonly revision: number;
  readonly at: MonotonicMs;
  readonly event: CacheEvent;
}

interface Waiter {
  readonly isDue: () => boolean;
  readonly wake: () => void;
}

export class WatchCache {
  readonly #clock: Clock;
  readonly #tally: CacheTally;
  readonly #decode: RecordDecoder;
  /** Invariant: `#keys` holds exactly the keys of `#objects`. */
  #objects = new Map<string, EncodedObject>();
  #keys = new SortedKeys();
  /** Invariant: every change after `windowStart`, up to `revision`. */
  readonly #window = new RevisionLog<WindowEntry>();
  #listRevision = 0;
  #forgotten = false;
  #revision = 0;
  #ready = false;
  /** By namespace; undefined is for watches of all of them. */
  readonly #listeners = new Map<string | undefined, Set<CacheListener>>();
  readonly #waiters = new Set<Waiter>();

  constructor(options: {
    readonly clock: Clock;
    readonly tally: CacheTally;
    readonly decode?: RecordDecoder;
  }) {
    this.#clock = options.clock;
    this.#decode = options.decode ?? decodeRecord;
    this.#tally = options.tally;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** All changes up to here are applied. 0 before the first list. */
  get revision(): number {
    return this.#revision;
  }

  /** The changes after this revision, and no older ones, can be given. */
  get windowStart(): number {
    const oldest = this.#window.oldest;
    return this.#forgotten && oldest !== undefined ? oldest.revision - 1 : this.#listRevision;
  }

  get(key: string): EncodedObject | undefined {
    return this.#objects.get(key);
  }

  /** In key order. The cache must not change while this is read. */
  *under(prefix: string, afterKey?: string): Generator<[string, EncodedObject], void, undefined> {
    for (const key of this.#keys.under(prefix, afterKey)) {
      const object = this.#objects.get(key);
      if (object !== undefined) yield [key, object];
    }
  }

  countUnder(prefix: string, afterKey?: string): number {
    return this.#keys.countUnder(prefix, afterKey);
  }

  /** Undefined when some of them are forgotten. */
  eventsAfter(revision: number, limit: number): readonly CacheEvent[] | undefined {
    if (!this.#ready || revision < this.windowStart) return undefined;
    return this.#window.after(revision, limit).map((entry) => entry.event);
  }

  /** Replaces everything by a list of the storage. */
  replace(list: ListResult): void {
    this.#objects = new Map();
    this.#keys = new SortedKeys();
    for (const record of list.records) {
      this.#objects.set(record.key, this.#decode(record));
      this.#keys.add(record.key);
    }
    this.#window.clear();
    this.#forgotten = false;
    this.#listRevision = list.revision;
    this.#ready = true;
    this.#tally.initializations += 1;
    this.progress(list.revision);
  }

  apply(event: StorageEvent): void {
    const key = event.type === "put" ? event.record.key : event.key;
    const revision = event.type === "put" ? event.record.revision : event.revision;
    const previous = this.#objects.get(key);
    const current = event.type === "put" ? this.#decode(event.record) : undefined;
    if (current === undefined) {
      this.#objects.delete(key);
      this.#keys.remove(key);
    } else {
      this.#objects.set(key, current);
      if (previous === undefined) this.#keys.add(key);
    }
    this.#tally.eventsReceived += 1;
    const isInStep = () => [...this.#keys.under("")].every((one) => this.#objects.has(one));
    assertCostly(isInStep, "keys are those of cached objects", this.#objects.size);
    assertCostly(() => this.#keys.size === this.#objects.size, "cached objects have keys");
    const change = new CacheEvent(revision, { current, previous });
    this.#remember(change);
    this.#revision = revision;
    this.#dispatch(change);
    this.progress(revision);
  }

  /** Nothing of this resource changed up to a revision. */
  progress(revision: number): void {
    this.#revision = revision;
    this.#tally.revision = revision;
    this.#wakeWaiters();
  }

  /** Forgets everything and ends all watches. No client is served until the next `replace`. */
  reset(): void {
    this.#ready = false;
    const listeners = [...this.#listeners.values()].flatMap((set) => [...set]);
    this.#listeners.clear();
    for (const listener of listeners) listener.onEnd();
  }

  listen(namespace: string | undefined, listener: CacheListener): () => void {
    const listeners = this.#listeners.get(namespace) ?? new Set();
    this.#listeners.set(namespace, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(namespace) === listeners) {
        this.#listeners.delete(namespace);
      }
    };
  }

  /** Calls back once, when the cache is ready and no older than this; the result cancels it. */
  whenAtLeast(revision: number, wake: () => void): () => void {
    const waiter: Waiter = { isDue: () => this.#ready && this.#revision >= revision, wake };
    this.#waiters.add(waiter);
    this.#wakeWaiters();
    return () => {
      this.#waiters.delete(waiter);
    };
  }

  #remember(event: CacheEvent): void {
    const now = this.#clock.monotonicMs();
    this.#window.append({ revision: event.revision, at: now, event });
    for (let oldest = this.#window.oldest; oldest !== undefined; oldest = this.#window.oldest) {
      const { size } = this.#window;
      const isOld = elapsedMs(oldest.at, now) > windowMs && size > minWindowEvents;
      if (!isOld && size <= maxWindowEvents) return;
      this.#window.dropOldest();
      this.#forgotten = true;
    }
  }

  #dispatch(event: CacheEvent): void {
    this.#tally.eventsDispatched += 1;
    for (const listener of this.#listeners.get(undefined) ?? []) listener.onEvent(event);
    if (event.namespace === undefined) return;
    for (const listener of this.#listeners.get(event.namespace) ?? []) listener.onEvent(event);
  }

  #wakeWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isDue()) continue;
      this.#waiters.delete(waiter);
      waiter.wake();
    }
  }
}
