// Every change of an etcd from a revision on, in order, each once, for as many watches as want it.
// The stream covers all keys, also those of other programs, so each revision appears in it. A watch
// that has received all changes up to a revision therefore misses none under its prefix. (The
// progress etcd itself announces cannot be relied on: 3.4.23 announces revisions whose events are
// still to come, https://github.com/etcd-io/etcd/issues/15220.) A broken connection is resumed
// where it broke.
import { wholeLines } from "../../../environment/line-splitter.ts";
import type { Log } from "../../../environment/log.ts";
import { jitter, type Random } from "../../../environment/random.ts";
import type { Timers } from "../../../environment/timers.ts";
import {
  isRecord,
  listAt,
  optionalRecordAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../../kube/kinds/fields.ts";
import { RevisionLog } from "../revision-log.ts";
import { CompactedError, type Storage, type StorageEvent } from "../storage.ts";
import type { EtcdGateway } from "./etcd-gateway.ts";
import { refusalIn } from "./etcd-refusal.ts";
import {
  everyKey,
  headerRevision,
  keyOf,
  PairRecord,
  parseRecord,
  wholeNumberAt,
} from "./etcd-wire.ts";

export interface ChangeStreamOptions {
  readonly gateway: EtcdGateway;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** The start of every key of this cluster. */
  readonly root: string;
}

export interface ChangeWatch {
  readonly prefix: string;
  readonly handlers: Parameters<Storage["watch"]>[2];
  /** Everything up to here has been delivered or lies outside the prefix. */
  delivered: number;
  stopped: boolean;
}

/** A list that was long under way when its watch begins still finds what has changed meanwhile. */
const rememberedEvents = 2_000;

/** Between two connections: etcd is back within a second of its start. */
const reconnectMs = { first: 50, last: 1000 } as const;

/** A line holds what etcd had at once: far more than it lets one transaction hold (1.5 MiB). */
const longestLineBytes = 256 * 1024 * 1024;

interface LoggedEvent {
  readonly revision: number;
  readonly event: StorageEvent;
}

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  readonly #watches = new Set<ChangeWatch>();
  readonly #ended = new AbortController();
  /** Invariant: every event of ours after `#start`, up to `#revision`. */
  readonly #log = new RevisionLog<LoggedEvent>();
  #start: number;
  #revision: number;
  /** The highest revision etcd has said it has: it must not have less later. */
  #proved = 0;
  #failures = 0;
  readonly #onAdvance: (stream: ChangeStream) => void;

  /** `onAdvance` is called after each delivery. */
  constructor(
    options: ChangeStreamOptions & {
      readonly from: number;
      readonly onAdvance: (stream: ChangeStream) => void;
    },
  ) {
    this.#options = options;
    this.#start = options.from;
    this.#revision = options.from;
    this.#onAdvance = options.onAdvance;
    options.gateway.stopping.addEventListener("abort", this.#end, { once: true });
    // Never rejects: every failure ends in another attempt, or in all watches being lost.
    void this.#run();
  }

  /** Watches can join from this revision on. */
  get start(): number {
    return this.#start;
  }

  get revision(): number {
    return this.#revision;
  }

  get isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Missed changes follow after the present turn. */
  join(watch: ChangeWatch): void {
    this.#watches.add(watch);
    queueMicrotask(() => this.#deliver(watch));
  }

  /** Idempotent. Without watches the stream ends. */
  leave(watch: ChangeWatch): void {
    this.#watches.delete(watch);
    if (this.#watches.size === 0) this.#end();
  }

  /** The watches go on elsewhere, and this ends. */
  handOver(): readonly ChangeWatch[] {
    const watches = [...this.#watches];
    this.#watches.clear();
    this.#end();
    return watches;
  }

  async #run(): Promise<void> {
    const { timers, random, log } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        log.debug("the watch of etcd broke; it is resumed", { revision: this.#revision, error });
      }
      const ms = Math.min(reconnectMs.first * 2 ** this.#failures, reconnectMs.last / 2);
      this.#failures += 1;
      // The loop's own condition sees the abort.
      await timers.sleep(jitter(random, ms, 1), signal).catch(() => undefined);
    }
  }

  async #follow(): Promise<void> {
    const { gateway } = this.#options;
    const request = { ...everyKey, start_revision: String(this.#revision + 1), prev_kv: true };
    const { signal } = this.#ended;
    const { body } = await gateway.stream("watch", { create_request: request }, signal);
    for await (const { bytes } of wholeLines(body, longestLineBytes)) {
      if (signal.aborted) return;
      const message = parseRecord(bytes);
      const refusal = message["error"] === undefined ? undefined : refusalIn(message);
      if (refusal !== undefined) throw refusal;
      this.#receive(recordAt(message, "result"));
    }
  }

  #receive(result: RawRecord): void {
    const revision = headerRevision(result);
    const compacted = wholeNumberAt(result, "compact_revision");
    if (compacted > 0) {
      this.#lose(new CompactedError(compacted));
      return;
    }
    if (result["canceled"] === true) {
      throw new Error(optionalString(result, "cancel_reason") ?? "etcd canceled the watch");
    }
    if (result["created"] === true && revision < this.#proved) {
      this.#lose(new Error(`etcd went back from revision ${this.#proved} to ${revision}`));
      return;
    }
    this.#proved = Math.max(this.#proved, revision);
    this.#failures = 0;
    const events = listAt(result, "events").filter(isRecord);
    if (events.length === 0) return;
    for (const event of events) this.#note(event);
    for (const watch of this.#watches) this.#deliver(watch);
    this.#onAdvance(this);
  }

  #note(change: RawRecord): void {
    const { root } = this.#options;
    const pair = recordAt(change, "kv");
    const revision = wholeNumberAt(pair, "mod_revision");
    this.#revision = revision;
    if (!keyOf(pair).startsWith(root)) return;
    const previous = optionalRecordAt(change, "prev_kv");
    const event = eventOf(
      change,
      new PairRecord(pair, root),
      previous && new PairRecord(previous, root),
    );
    if (event === undefined) {
      this.#lose(new CompactedError(revision));
      return;
    }
    this.#log.append({ revision, event });
    const { oldest } = this.#log;
    if (this.#log.size <= rememberedEvents || oldest === undefined) return;
    this.#start = oldest.revision;
    this.#log.dropOldest();
  }

  #deliver(watch: ChangeWatch): void {
    const upTo = this.#revision;
    if (watch.stopped || !this.#watches.has(watch) || watch.delivered >= upTo) return;
    const events = this.#log.after(watch.delivered);
    watch.delivered = upTo;
    let last = 0;
    try {
      for (const { revision, event } of events) {
        if (watch.stopped) return;
        const key = event.type === "put" ? event.record.key : event.key;
        if (!key.startsWith(watch.prefix)) continue;
        last = revision;
        watch.handlers.onEvent(event);
      }
      if (last < upTo && !watch.stopped) watch.handlers.onProgress(upTo);
    } catch (error) {
      // One watcher that cannot take an event must not keep it from the others.
      this.#watches.delete(watch);
      lose(watch, error instanceof Error ? error : new Error(String(error)));
    }
  }

  #lose(error: Error): void {
    for (const watch of this.handOver()) lose(watch, error);
  }

  readonly #end = (): void => {
    this.#ended.abort(new Error("the watch of etcd is over"));
    this.#options.gateway.stopping.removeEventListener("abort", this.#end);
  };
}

function lose(watch: ChangeWatch, error: Error): void {
  if (watch.stopped) return;
  watch.stopped = true;
  watch.handlers.onLost(error);
}

/** Undefined when what was removed is not known any more: its history has been compacted. */
function eventOf(
  change: RawRecord,
  record: PairRecord,
  previous: PairRecord | undefined,
): StorageEvent | undefined {
  if (change["type"] !== "DELETE") return { type: "put", record, previous };
  const { key, revision } = record;
  return previous && { type: "delete", key, revision, previous };
}
