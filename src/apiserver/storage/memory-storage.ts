// The storage of a cluster inside one process. A write happens at once, so all writes are in one
// order; what it means to watchers is delivered in that order after the writer's own turn, so that
// a watcher which writes never finds itself inside another write. History is one log of events: the
// state at an older revision is the present one with the later events taken back.
import { assertCostly } from "../../environment/assert.ts";
import type { Clock, MonotonicMs } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import { RevisionLog } from "./revision-log.ts";
import { SortedKeys } from "./sorted-keys.ts";
import {
  CompactedError,
  type ListOptions,
  type ListResult,
  type Storage,
  type StorageEvent,
  type StorageWatch,
  type StoredRecord,
  type WriteResult,
} from "./storage.ts";

export interface MemoryStorageOptions {
  readonly clock: Clock;
  /** Events kept at most, whatever their age. */
  readonly historyLimit?: number;
}

/** The API server's compactor: each interval it compacts to where the last interval ended. */
export const compactionIntervalMs = 5 * 60_000;

/** About 5 minutes of 300 writes a second; beyond it memory matters more than old pages. */
const defaultHistoryLimit = 100_000;

/** etcd begins at 1; 0 would mean "no version" to a client. */
export const firstRevision = 1;

type WatchHandlers = Parameters<Storage["watch"]>[2];

interface LoggedEvent {
  readonly revision: number;
  readonly event: StorageEvent;
}

interface Watch {
  readonly prefix: string;
  readonly handlers: WatchHandlers;
  /** Everything up to here has been delivered or lies outside the prefix. */
  delivered: number;
  stopped: boolean;
}

export class MemoryStorage implements Storage {
  readonly #clock: Clock;
  readonly #historyLimit: number;
  /** Invariant: `#keys` holds exactly the keys of `#records`. */
  readonly #records = new Map<string, StoredRecord>();
  readonly #keys = new SortedKeys();
  /** Invariant: every event after `#compacted`, none before. */
  readonly #log = new RevisionLog<LoggedEvent>();
  readonly #watches = new Set<Watch>();
  #revision = firstRevision;
  /** The oldest revision that can still be read; a watch may start from it. */
  #compacted = firstRevision;
  #lastCompaction: { at: MonotonicMs; revision: number };
  #deliveryScheduled = false;

  constructor(options: MemoryStorageOptions) {
    this.#clock = options.clock;
    this.#historyLimit = options.historyLimit ?? defaultHistoryLimit;
    this.#lastCompaction = { at: options.clock.monotonicMs(), revision: firstRevision };
  }

  /** The same state in a storage of its own, without the history and with another clock. */
  copy(options: MemoryStorageOptions): MemoryStorage {
    const copy = new MemoryStorage(options);
    for (const [key, record] of this.#records) {
      copy.#records.set(key, record);
      copy.#keys.add(key);
    }
    copy.#revision = this.#revision;
    copy.#compacted = this.#revision;
    copy.#lastCompaction = { ...copy.#lastCompaction, revision: this.#revision };
    return copy;
  }

  async get(key: string): Promise<{ record: StoredRecord | undefined; revision: number }> {
    return { record: this.#records.get(key), revision: this.#revision };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#compactIfDue();
    const { atRevision = this.#revision, limit = Number.POSITIVE_INFINITY, afterKey } = options;
    if (atRevision < this.#compacted) throw new CompactedError(this.#compacted);
    if (atRevision > this.#revision) {
      throw new RangeError(`revision ${atRevision} is in the future of ${this.#revision}`);
    }
    const changed = this.#changedAfter(atRevision, prefix);
    const records: StoredRecord[] = [];
    for (const key of this.#keysAt(changed, prefix, afterKey)) {
      if (records.length >= limit) break;
      const record = changed.has(key) ? changed.get(key) : this.#records.get(key);
      if (record !== undefined) records.push(record);
    }
    const lastKey = records.at(-1)?.key ?? afterKey;
    const remaining = records.length < limit ? 0 : this.#countAt(changed, prefix, lastKey);
    return { records, revision: atRevision, remaining };
  }

  async put(key: string, value: Uint8Array, expectedRevision: number): Promise<WriteResult> {
    const previous = this.#records.get(key);
    if ((previous?.revision ?? 0) !== expectedRevision) return { done: false, current: previous };
    this.#compactIfDue();
    this.#revision += 1;
    const record: StoredRecord = { key, value, revision: this.#revision };
    this.#records.set(key, record);
    if (previous === undefined) this.#keys.add(key);
    this.#happened({ type: "put", record, previous });
    return { done: true, revision: this.#revision };
  }

  async delete(key: string, expectedRevision: number): Promise<WriteResult> {
    const previous = this.#records.get(key);
    if (previous === undefined || previous.revision !== expectedRevision) {
      return { done: false, current: previous };
    }
    this.#compactIfDue();
    this.#revision += 1;
    this.#records.delete(key);
    this.#keys.remove(key);
    this.#happened({ type: "delete", key, revision: this.#revision, previous });
    return { done: true, revision: this.#revision };
  }

  watch(prefix: string, fromRevision: number, handlers: WatchHandlers): StorageWatch {
    this.#compactIfDue();
    const watch: Watch = { prefix, handlers, delivered: fromRevision, stopped: false };
    this.#watches.add(watch);
    this.#scheduleDelivery();
    return {
      stop: () => {
        watch.stopped = true;
        this.#watches.delete(watch);
      },
    };
  }

  #happened(event: StorageEvent): void {
    assertCostly(() => this.#isInStep(), "keys are those of records", this.#records.size);
    this.#log.append({ revision: this.#revision, event });
    const { oldest } = this.#log;
    if (oldest !== undefined && this.#log.size > this.#historyLimit) {
      this.#compactTo(oldest.revision);
    }
    this.#scheduleDelivery();
  }

  #isInStep(): boolean {
    const keys = [...this.#keys.under("")];
    const isLogged = (this.#log.oldest?.revision ?? this.#revision + 1) > this.#compacted;
    return (
      isLogged && keys.length === this.#records.size && keys.every((key) => this.#records.has(key))
    );
  }

  #scheduleDelivery(): void {
    if (this.#deliveryScheduled) return;
    this.#deliveryScheduled = true;
    queueMicrotask(() => {
      this.#deliveryScheduled = false;
      this.#deliverAll(this.#revision);
    });
  }

  /** A handler may write or stop watches: what it adds comes with the next delivery. */
  #deliverAll(upTo: number): void {
    let from = -1;
    let events: readonly LoggedEvent[] = [];
    for (const watch of this.#watches) {
      // Nearly all watches are equally far, so they share one look into the log.
      if (watch.delivered !== from) {
        from = watch.delivered;
        events = this.#log.after(from);
      }
      this.#deliver(watch, events, upTo);
    }
  }

  #deliver(watch: Watch, events: readonly LoggedEvent[], upTo: number): void {
    if (watch.delivered < this.#compacted) {
      this.#watches.delete(watch);
      watch.stopped = true;
      watch.handlers.onLost(new CompactedError(this.#compacted));
      return;
    }
    if (watch.delivered >= upTo) return;
    let last = 0;
    for (const { revision, event } of events) {
      if (revision > upTo) break;
      if (watch.stopped) return;
      if (!keyOf(event).startsWith(watch.prefix)) continue;
      watch.delivered = revision;
      last = revision;
      watch.handlers.onEvent(event);
    }
    watch.delivered = upTo;
    if (last < upTo && !watch.stopped) watch.handlers.onProgress(upTo);
  }

  /**
   * Runs before each write and each look into history, so no timer is needed. When two intervals
   * passed unnoticed nothing was written meanwhile, and the present is where the last one ended.
   */
  #compactIfDue(): void {
    const now = this.#clock.monotonicMs();
    const sinceLast = elapsedMs(this.#lastCompaction.at, now);
    if (sinceLast < compactionIntervalMs) return;
    const missedOne = sinceLast >= 2 * compactionIntervalMs;
    this.#compactTo(missedOne ? this.#revision : this.#lastCompaction.revision);
    this.#lastCompaction = { at: now, revision: this.#revision };
  }

  #compactTo(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision);
    for (let oldest = this.#log.oldest; oldest !== undefined; oldest = this.#log.oldest) {
      if (oldest.revision > this.#compacted) return;
      this.#log.dropOldest();
    }
  }

  /** The keys changed after a revision, with what they held then. */
  #changedAfter(revision: number, prefix: string): Map<string, StoredRecord | undefined> {
    const before = new Map<string, StoredRecord | undefined>();
    for (const { event } of this.#log.after(revision)) {
      const key = keyOf(event);
      if (key.startsWith(prefix) && !before.has(key)) before.set(key, event.previous);
    }
    return before;
  }

  /** The present keys and the removed ones, in order. */
  *#keysAt(
    changed: ReadonlyMap<string, StoredRecord | undefined>,
    prefix: string,
    afterKey: string | undefined,
  ): Generator<string, void, undefined> {
    const removed = [...changed.keys()]
      .filter((key) => !this.#records.has(key) && (afterKey === undefined || key > afterKey))
      .sort();
    let next = 0;
    for (const key of this.#keys.under(prefix, afterKey)) {
      for (let gone = removed[next]; gone !== undefined && gone < key; gone = removed[next]) {
        yield gone;
        next += 1;
      }
      yield key;
    }
    yield* removed.slice(next);
  }

  #countAt(
    changed: ReadonlyMap<string, StoredRecord | undefined>,
    prefix: string,
    afterKey: string | undefined,
  ): number {
    let count = this.#keys.countUnder(prefix, afterKey);
    for (const [key, before] of changed) {
      if (afterKey !== undefined && key <= afterKey) continue;
      count += Number(before !== undefined) - Number(this.#records.has(key));
    }
    return count;
  }
}

function keyOf(event: StorageEvent): string {
  return event.type === "put" ? event.record.key : event.key;
}
