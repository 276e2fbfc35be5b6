// Keeps a store equal to a collection of the API server, and says how far that can be trusted. It
// lists once, then watches and resumes, and never gives up: a failure leads to a wait and a new try,
// whatever it was. `reflector-state.ts` holds the states and the ways between them; here is the one
// step that does the work of each.
import type { MonotonicMs } from "../../environment/clock.ts";
import { randomInt } from "../../environment/random.ts";
import type { Projected } from "../kinds/kind.ts";
import type { ReadonlyStore, Replacement } from "../store/store.ts";
import type { Freshness } from "./freshness.ts";
import {
  eventsPerBreath,
  listPages,
  readInitialEvents,
  refusesInitialEvents,
} from "./reflector-list.ts";
import {
  assembleReflector,
  type ReflectorOptions,
  type ReflectorParts,
  type WatchChecks,
} from "./reflector-parts.ts";
import { DoubtedListError, type FinishedList } from "./reflector-removals.ts";
import {
  afterListFailure,
  afterWatchEnd,
  type Condition,
  type Listing,
  listing,
  type ReflectorState,
  type Waiting,
  type Watching,
  watchingAfterList,
} from "./reflector-state.ts";
import { overdueSlackMs, WatchStream } from "./reflector-stream.ts";
import { SyncGate } from "./reflector-sync.ts";
import { followWatch } from "./reflector-watch.ts";

/** The server is asked to end a watch after five to ten minutes, so that load can move. */
export const watchTimeoutMinSeconds = 300;
export const watchTimeoutMaxSeconds = 600;

export class Reflector<T extends Projected, I extends string = never> {
  readonly #parts: ReflectorParts<T, I>;
  readonly #sync = new SyncGate();
  readonly #abort = new AbortController();
  #state: ReflectorState = { name: "empty" };
  /** Whether lists come as the first part of a watch; stays false once the server has refused. */
  #listByWatch: boolean;
  #running: Promise<void> | undefined;
  /** Why the last try failed, until one succeeds. */
  #problem: Condition | undefined;

  constructor(options: ReflectorOptions<T, I>) {
    this.#parts = assembleReflector(options, this.#abort.signal);
    this.#listByWatch = options.initialList === "watchlist";
  }

  get store(): ReadonlyStore<T, I> {
    return this.#parts.store;
  }

  get state(): ReflectorState["name"] {
    return this.#state.name;
  }

  /** Whether the handlers have been called for everything in the first list. */
  get synced(): boolean {
    return this.#sync.isOpen;
  }

  /** Resolves when synced; rejects when the signal aborts or the reflector is stopped before. */
  waitForSync(signal?: AbortSignal): Promise<void> {
    return this.#sync.wait(signal);
  }

  freshness(): Freshness {
    return this.#parts.freshness.freshness();
  }

  /** When a quorum read was sent that knew this version before the watch showed it. */
  readBefore(resourceVersion: string): MonotonicMs | undefined {
    return this.#parts.freshness.readBefore(resourceVersion);
  }

  condition(): Condition {
    if (this.#problem !== undefined) {
      return this.#problem;
    }
    return this.#parts.freshness.freshness().provedBy === "events"
      ? {
          type: "refused",
          message: "no permission for quorum reads; a lagging API server would not be detected",
        }
      : { type: "ok", message: this.#state.name };
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing of it goes on any more. Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the reflector was stopped"));
    this.#running ??= this.#run();
    await this.#running;
  }

  async #run(): Promise<void> {
    const forget = this.#parts.counts.show(this.#parts);
    const untrack = this.#parts.track(() => (this.synced ? this.store.size : undefined));
    while (!this.#abort.signal.aborted) {
      this.#state = await this.#step(this.#state);
      if (this.#state.name === "waiting" && !this.#abort.signal.aborted) {
        this.#noteProblem(this.#state);
      }
    }
    if (this.#state.name === "watching") {
      await this.#state.stream?.close();
    }
    this.#state = { name: "stopped" };
    forget();
    untrack();
    this.#sync.close();
  }

  /** A refused request is logged once, however often it is tried. */
  #noteProblem({ because, delayMs }: Waiting): void {
    const { type, message } = because;
    const { type: knownType, message: known } = this.#problem ?? {};
    const isKnown = type === "refused" && knownType === type && known === message;
    this.#problem = because;
    this.#parts.log[isKnown ? "debug" : "warn"]("waiting before the next retry", {
      type,
      problem: message,
      delayMs: Math.round(delayMs),
    });
  }

  async #step(state: ReflectorState): Promise<ReflectorState> {
    switch (state.name) {
      case "empty":
        return firstListing(this.#parts.checks);
      case "listing": {
        const possible = this.#listByWatch || state.way !== "stream" ? state : byPages(state);
        return this.#list(possible).catch((error: unknown) =>
          afterListFailure(possible, error, this.#parts.policy),
        );
      }
      case "watching":
        return this.#watch(state);
      case "waiting":
        return this.#parts.timers.sleep(state.delayMs, this.#abort.signal).then(
          () => state.next,
          () => ({ name: "stopped" }),
        );
      case "stopped":
        return state;
    }
  }

  async #list(state: Listing): Promise<ReflectorState> {
    if (state.way !== "stream") {
      return this.#listByPages(state);
    }
    try {
      return await this.#listByStream(state);
    } catch (error) {
      if (!refusesInitialEvents(error)) {
        throw error;
      }
      this.#parts.log.info("the server does not support streaming lists; using pages");
      this.#listByWatch = false;
      return byPages(state);
    }
  }

  async #listByPages(state: Listing): Promise<ReflectorState> {
    const sentAt = this.#parts.clock.monotonicMs();
    const replacement = this.#parts.store.startReplacement();
    const { collection, signal } = this.#parts;
    const first =
      state.way === "whole"
        ? collection.whole(state.notOlderThan, signal)
        : collection.firstPage(state.notOlderThan, signal);
    const end = await listPages(this.#parts, first, replacement);
    this.#checkRemovals({ replacement, unsent: end.unsent }, end.peer);
    await this.#replaceAll(state, replacement, end.resourceVersion, sentAt);
    return watchingAfterList(end.resourceVersion);
  }

  async #listByStream(state: Listing): Promise<ReflectorState> {
    const sentAt = this.#parts.clock.monotonicMs();
    const replacement = this.#parts.store.startReplacement();
    const stream = await this.#open((timeoutSeconds) =>
      this.#parts.collection.watchListPath(state.notOlderThan, timeoutSeconds),
    );
    try {
      const version = await readInitialEvents(this.#parts, stream, replacement);
      this.#checkRemovals({ replacement, unsent: 0 }, stream.peer);
      await this.#replaceAll(state, replacement, version, sentAt);
      return watchingAfterList(version, stream);
    } catch (error) {
      await stream.close();
      throw error;
    }
  }

  /** Throws when the list lacks too much to be believed; the next one comes from another server. */
  #checkRemovals(list: FinishedList<T, I>, peer: string | undefined): void {
    const { removals, freshness, counts, client } = this.#parts;
    const doubt = removals?.doubt(list);
    if (doubt === undefined) return;
    freshness.doubted(doubt);
    counts.doubtedList();
    if (peer !== undefined) client.doubtServer?.(peer, "incomplete");
    throw new DoubtedListError(doubt.message);
  }

  /** The store changes at once; the handlers hear of it change by change, with pauses. */
  async #replaceAll(
    state: Listing,
    replacement: Replacement<T, I>,
    resourceVersion: string,
    sentAt: MonotonicMs,
  ): Promise<void> {
    this.#problem = undefined;
    const wasDoubted = this.#parts.freshness.doubt !== undefined;
    const changes = replacement.commit();
    const consistent = state.notOlderThan === undefined;
    this.#parts.freshness.listed({ sentAt, resourceVersion, consistent });
    this.#parts.counts.listed();
    if (state.reason !== "initial") {
      this.#parts.counts.relisted(state.reason);
      this.#parts.log.info("listed again", { reason: state.reason, changes: changes.length });
    }
    if (wasDoubted) {
      const removed = changes.filter(({ type }) => type === "deleted").length;
      this.#parts.log.warn("a suspicious list is resolved", { removed });
    }
    if (state.reason === "lagging" || state.reason === "silent" || state.reason === "rewound") {
      this.#parts.guard.relisted(sentAt);
    }
    for (const [index, change] of changes.entries()) {
      this.#parts.delivery.deliver(change);
      if (index % eventsPerBreath === eventsPerBreath - 1) {
        await this.#parts.timers.breathe();
        // The rest of a long list is not needed after a stop.
        this.#abort.signal.throwIfAborted();
      }
    }
    this.#sync.open();
  }

  async #watch(state: Watching): Promise<ReflectorState> {
    let stream: WatchStream;
    try {
      stream =
        state.stream ??
        (await this.#open((timeoutSeconds) =>
          this.#parts.collection.watchPath(state.resourceVersion, timeoutSeconds),
        ));
    } catch (error) {
      const reached = { resourceVersion: state.resourceVersion, lastedMs: 0 };
      return afterWatchEnd(state, { type: "failed", error }, reached, this.#parts.policy);
    }
    const end = await followWatch(this.#parts, stream);
    const resourceVersion = this.#parts.freshness.resourceVersion ?? state.resourceVersion;
    const reached = { resourceVersion, lastedMs: stream.lastedMs };
    return afterWatchEnd(state, end, reached, this.#parts.policy);
  }

  async #open(path: (timeoutSeconds: number) => string): Promise<WatchStream> {
    const { client, checks, clock, timers, random } = this.#parts;
    const spread = watchTimeoutMaxSeconds - watchTimeoutMinSeconds + 1;
    const timeoutSeconds = watchTimeoutMinSeconds + randomInt(random, spread);
    const stream = await WatchStream.open({
      client,
      clock,
      timers,
      overdueMs: checks === "all" ? timeoutSeconds * 1000 + overdueSlackMs : undefined,
      path: path(timeoutSeconds),
      signal: this.#abort.signal,
    });
    this.#parts.counts.watchOpened();
    this.#problem = undefined;
    return stream;
  }
}

/** client-go takes for its first list whatever the server's cache has. */
function firstListing(checks: WatchChecks): Listing {
  return checks === "all"
    ? listing("initial")
    : listing("initial", { notOlderThan: "0", way: "whole" });
}

function byPages(state: Listing): Listing {
  return { ...state, way: "pages" };
}
