// Keeps one watch cache in step with the storage: lists it, watches it from there, and starts over
// when the watch is lost. The lag fault sits here, between the storage and the cache.
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Timers } from "../../environment/timers.ts";
import type { Storage, StorageEvent, StorageWatch } from "../storage/storage.ts";
import type { CacheFaults } from "./cache-faults.ts";
import { DelayLine } from "./delay-line.ts";
import type { WatchCache } from "./watch-cache.ts";

export interface CacheFeedOptions {
  readonly storage: Storage;
  readonly prefix: string;
  readonly cache: WatchCache;
  readonly faults: CacheFaults;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** Between two attempts to list a storage that failed, as in a real server. */
const retryMs = 1000;

/** A frozen cache holds back so many changes; more are let through early. */
const maxHeldBack = 100_000;

type News =
  | { readonly type: "event"; readonly event: StorageEvent }
  | { readonly type: "progress"; readonly revision: number };

export class CacheFeed {
  readonly #options: CacheFeedOptions;
  readonly #stopping = new AbortController();
  #started = false;
  #stopListening: (() => void) | undefined;
  /** Of the present watch; replaced with it, so that nothing of a lost one is applied late. */
  #line: DelayLine<News> | undefined;
  #watch: StorageWatch | undefined;

  constructor(options: CacheFeedOptions) {
    this.#options = options;
  }

  /** Idempotent. Returns at once, before the cache is ready. */
  start(): void {
    if (this.#started || this.#stopping.signal.aborted) return;
    this.#started = true;
    this.#stopListening = this.#options.faults.listen({
      changed: () => this.#line?.reconsider(),
      reset: () => undefined,
    });
    // Never rejects: every failure ends in a line of the log and another attempt.
    void this.#listAndWatch();
  }

  /** Idempotent. Ends all watches of the cache. */
  stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    this.#stopListening?.();
    this.#drop();
    this.#options.cache.reset();
  }

  async #listAndWatch(): Promise<void> {
    const { storage, prefix, cache, timers, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const list = await storage.list(prefix);
        if (signal.aborted) return;
        cache.replace(list);
        this.#follow(list.revision);
        return;
      } catch (error) {
        // A storage that is stopped after its server refuses the requests in flight.
        if (signal.aborted) return;
        log.error("Listing the storage failed; trying again.", { prefix, error });
      }
      // The loop's own condition sees the abort.
      await timers.sleep(retryMs, signal).catch(() => undefined);
    }
  }

  #follow(revision: number): void {
    const { storage, prefix, cache, clock, timers, faults } = this.#options;
    const line = new DelayLine<News>({
      clock,
      timers,
      delayMs: () => faults.cacheLagMs,
      maxWaiting: maxHeldBack,
      merge: mergeProgress,
      deliver: (news) => {
        if (news.type === "event") cache.apply(news.event);
        else cache.progress(news.revision);
      },
    });
    this.#line = line;
    this.#watch = storage.watch(prefix, revision, {
      onEvent: (event) => line.push({ type: "event", event }),
      onProgress: (reached) => line.push({ type: "progress", revision: reached }),
      onLost: (error) => this.#lost(error),
    });
  }

  #lost(error: Error): void {
    const { cache, log, prefix } = this.#options;
    log.warn("The watch of the storage was lost; listing it again.", { prefix, error });
    this.#drop();
    cache.reset();
    // Never rejects, as above.
    void this.#listAndWatch();
  }

  #drop(): void {
    this.#watch?.stop();
    this.#line?.stop();
    this.#watch = undefined;
    this.#line = undefined;
  }
}

/** The storage reports its progress with every write; only the newest report counts. */
function mergeProgress(earlier: News, later: News): News | undefined {
  return earlier.type === "progress" && later.type === "progress" ? later : undefined;
}
