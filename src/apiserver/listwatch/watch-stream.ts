// One client's watch: the state first if requested, then missed changes from the cache's window,
// then each change as it happens. Invariant: everything up to `#cursor` that concerns the client
// has been written, in order, and nothing after it. A client that cannot take more is let go; one
// that is merely behind reads from the window, so nothing is queued for it.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { BodyWriter } from "../../environment/network.ts";
import { jitter, type Random } from "../../environment/random.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";
import {
  bookmarkObject,
  type CacheEvent,
  type ChangeType,
  changeLine,
  eventLine,
} from "./cache-event.ts";
import type { CacheFaults, OpenWatch } from "./cache-faults.ts";
import type { CacheTally } from "./cache-metrics.ts";
import type { EncodedObject } from "./encoded-object.ts";
import type { ResourceNames } from "./resource-names.ts";
import type { WatchCache } from "./watch-cache.ts";
import type { WatchRequest } from "./watch-plan.ts";

export type WatchStart =
  | {
      readonly from: "state";
      readonly objects: readonly EncodedObject[];
      readonly revision: number;
      readonly endBookmark: boolean;
    }
  | { readonly from: "changes"; readonly revision: number };

interface WatchStreamOptions {
  readonly cache: WatchCache;
  readonly names: ResourceNames;
  readonly request: WatchRequest;
  readonly start: WatchStart;
  readonly deadline: MonotonicMs;
  readonly writer: BodyWriter;
  /** Aborts when the client has gone. */
  readonly closed: AbortSignal;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly faults: CacheFaults;
  readonly tally: CacheTally;
}

/** A client this far behind does not read; real servers allow about 100 changes and 100 ms. */
const maxPendingBytes = 4 * 1024 * 1024;

/** State and missed changes are written in pieces of about this size, as the client takes them. */
const pieceBytes = 64 * 1024;

/** Changes read from the window at a time. */
const catchUpEvents = 500;

type End = "timeout" | "cacheGone" | "clientGone" | "reset" | "unresponsive";

export class WatchStream {
  readonly #options: Omit<WatchStreamOptions, "start">;
  readonly #identity: OpenWatch;
  /** Let go once it is sent: the stream may live for an hour. */
  #start: WatchStart | undefined;
  #cursor: number;
  /** Bookmarks are sent only past it. */
  readonly #startRevision: number;
  /** Caught up: changes are written as they happen. */
  #live = false;
  #expired = false;
  #end: End | undefined;
  #wake: () => void = noOne;

  constructor(options: WatchStreamOptions) {
    const { start, ...rest } = options;
    this.#options = rest;
    const { clientName = "", namespace } = rest.request;
    this.#identity = { clientName, resource: rest.names.resource, namespace };
    this.#start = start;
    this.#startRevision = start.revision;
    this.#cursor = start.revision;
  }

  /** Streams until the watch ends, for any reason. */
  async run(): Promise<void> {
    const { cache, clock, timers, closed, deadline, faults, request, writer } = this.#options;
    const onClosed = (): void => this.#finish("clientGone");
    closed.addEventListener("abort", onClosed, { once: true });
    const leave = cache.listen(request.namespace, {
      onEvent: (event) => this.#onEvent(event),
      onEnd: () => this.#finish("cacheGone"),
    });
    const stopFaults = faults.listen({
      changed: () => this.#reconsider(),
      reset: (chosen) => {
        if (chosen(this.#identity)) this.#finish("reset");
      },
    });
    const untilDeadlineMs = elapsedMs(clock.monotonicMs(), deadline);
    const cancelTimeout = timers.after(untilDeadlineMs, () => {
      this.#expired = true;
      this.#reconsider();
    });
    // Sends the status and headers although there may be no event for a long time.
    writer.write(new Uint8Array(0));
    if (closed.aborted) onClosed();
    const bookmarks = new BookmarkSchedule({
      ...this.#options,
      send: () => this.#sendBookmark(),
    });
    if (request.allowWatchBookmarks) bookmarks.start();
    try {
      await this.#sendState();
      while (this.#end === undefined) {
        await (this.#live ? this.#untilWoken() : this.#catchUp());
      }
    } finally {
      closed.removeEventListener("abort", onClosed);
      leave();
      stopFaults();
      cancelTimeout();
      bookmarks.stop();
    }
  }

  get #stalled(): boolean {
    return this.#options.faults.isStalled(this.#identity);
  }

  async #sendState(): Promise<void> {
    const { request, tally } = this.#options;
    const { shape } = request;
    const start = this.#start;
    this.#start = undefined;
    if (start?.from !== "state") return;
    let piece: Uint8Array[] = [];
    let size = 0;
    for (const shown of start.objects) {
      if (request.matches !== undefined && !request.matches(shown.object)) continue;
      const line =
        shape === undefined ? changeLine("ADDED", shown) : eventLine("ADDED", shape(shown.object));
      tally.initialEvents += 1;
      piece.push(line);
      size += line.length;
      if (size < pieceBytes) continue;
      await this.#writePiece(piece);
      if (this.#end !== undefined) return;
      piece = [];
      size = 0;
    }
    if (start.endBookmark) {
      piece.push(this.#bookmark(start.revision, { endsInitialEvents: true }));
    }
    await this.#writePiece(piece);
  }

  /** Writes some of the missed changes; goes live when none is left. */
  async #catchUp(): Promise<void> {
    const { cache } = this.#options;
    if (this.#stalled) return this.#untilWoken();
    const events = cache.eventsAfter(this.#cursor, catchUpEvents);
    if (events === undefined) {
      this.#finish(cache.ready ? "unresponsive" : "cacheGone");
      return;
    }
    const last = events.at(-1);
    if (last === undefined) {
      this.#live = true;
      return;
    }
    const piece: Uint8Array[] = [];
    for (const event of events) {
      const type = this.#typeOf(event);
      if (type !== undefined) piece.push(this.#lineOf(event, type));
    }
    this.#cursor = last.revision;
    await this.#writePiece(piece);
  }

  #onEvent(event: CacheEvent): void {
    const { cache, writer } = this.#options;
    if (!this.#live) {
      if (cache.windowStart > this.#cursor && !this.#stalled) this.#finish("unresponsive");
      return;
    }
    if (event.revision <= this.#cursor) return;
    this.#cursor = event.revision;
    const type = this.#typeOf(event);
    if (type === undefined) return;
    if (writer.pendingBytes > maxPendingBytes) {
      this.#finish("unresponsive");
      return;
    }
    this.#write(this.#lineOf(event, type), 1);
  }

  /** The event that this client gets for the change, if any. */
  #typeOf(event: CacheEvent): ChangeType | undefined {
    const { namespace, matches } = this.#options.request;
    if (namespace !== undefined && event.namespace !== namespace) return undefined;
    return event.typeFor(matches);
  }

  /** The faults are others, or the deadline has come. A stalled watch does not even end. */
  #reconsider(): void {
    if (!this.#stalled) {
      if (this.#expired) this.#finish("timeout");
    } else if (this.#live) {
      this.#cursor = Math.max(this.#cursor, this.#options.cache.revision);
      this.#live = false;
    }
    this.#wake();
  }

  /** Live means that everything up to the cache's revision has been written. */
  #sendBookmark(): void {
    const { cache, writer } = this.#options;
    if (!this.#live || cache.revision <= this.#startRevision) return;
    if (writer.pendingBytes > maxPendingBytes) return;
    this.#write(this.#bookmark(cache.revision, { endsInitialEvents: false }), 1);
  }

  #lineOf(event: CacheEvent, type: ChangeType): Uint8Array {
    const { shape } = this.#options.request;
    return shape === undefined
      ? event.line(type)
      : eventLine(type, shape(event.shown(type).object));
  }

  #bookmark(revision: number, options: { readonly endsInitialEvents: boolean }): Uint8Array {
    const { names, request } = this.#options;
    const object = bookmarkObject(names, revision, options);
    return eventLine("BOOKMARK", request.shape?.(object) ?? object);
  }

  /** Writes and waits until the client has taken most of it. */
  async #writePiece(lines: readonly Uint8Array[]): Promise<void> {
    const { writer } = this.#options;
    while (this.#stalled && this.#end === undefined) await this.#untilWoken();
    if (lines.length === 0 || this.#end !== undefined) return;
    this.#write(Buffer.concat(lines), lines.length);
    if (writer.pendingBytes <= pieceBytes) return;
    await Promise.race([writer.drained(), this.#untilWoken()]);
  }

  #write(bytes: Uint8Array, events: number): void {
    this.#options.tally.eventsSent += events;
    this.#options.writer.write(bytes);
  }

  /** Resolves when the watch has ended or the faults have changed. */
  #untilWoken(): Promise<void> {
    if (this.#end !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #finish(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#live = false;
    const { writer, tally, log, names } = this.#options;
    if (end === "unresponsive") {
      tally.terminatedWatchers += 1;
      const fields = { ...this.#identity, pendingBytes: writer.pendingBytes };
      log.warn(`Forcing ${names.resource} watcher close due to unresponsiveness.`, fields);
    }
    if (end === "reset") writer.abort();
    else if (end !== "clientGone") writer.end();
    this.#wake();
  }
}

function noOne(): void {
  // No timer is set.
}

/**
 * When a watch gets its bookmarks: about every minute, so that a broken watch can resume, and a
 * last one shortly before its deadline, so that the next watch starts as late as possible.
 */
interface BookmarkScheduleOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** When the watch ends. */
  readonly deadline: MonotonicMs;
  readonly send: () => void;
}

const intervalMs = 60_000;

/** Real servers look for due watches every 1 to 1.25 s, so a bookmark may be that late. */
const intervalJitter = 1.25 / 60;

const lastBeforeDeadlineMs = 2000;

class BookmarkSchedule {
  readonly #options: BookmarkScheduleOptions;
  #cancel: CancelTimer | undefined;

  constructor(options: BookmarkScheduleOptions) {
    this.#options = options;
  }

  start(): void {
    this.#scheduleNext();
  }

  /** Idempotent. */
  stop(): void {
    this.#cancel?.();
  }

  #scheduleNext(): void {
    const { clock, deadline, random, timers, send } = this.#options;
    const leftMs = elapsedMs(clock.monotonicMs(), deadline) - lastBeforeDeadlineMs;
    // The last one has been sent; a remainder below the clock's grain is not a wait.
    if (leftMs < 1) return;
    const delayMs = Math.min(jitter(random, intervalMs, intervalJitter), leftMs);
    this.#cancel = timers.after(delayMs, () => {
      this.#scheduleNext();
      send();
    });
  }
}
