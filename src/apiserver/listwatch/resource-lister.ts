// Answers lists of one resource: from the cache where that is allowed, from the storage where an
// exact version is requested or the cache cannot keep up.
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { ApiError } from "../api-error.ts";
import { CompactedError, type Storage } from "../storage/storage.ts";
import type { CacheFaults } from "./cache-faults.ts";
import type { CacheMetrics } from "./cache-metrics.ts";
import { encodeContinue } from "./continue-token.ts";
import type { EncodedObject, RecordDecoder } from "./encoded-object.ts";
import { type ListAnswer, type ListPlan, type ListRequest, planList } from "./list-plan.ts";
import {
  ContinueExpiredError,
  listExpired,
  storageInitializing,
  tooLargeResourceVersion,
} from "./refusals.ts";
import { type ResourceNames, scopePrefix } from "./resource-names.ts";
import type { WatchCache } from "./watch-cache.ts";

export interface ResourceListerOptions {
  readonly names: ResourceNames;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly decode: RecordDecoder;
  readonly faults: CacheFaults;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly metrics: CacheMetrics;
}

/** How long a request waits for the cache to hear of a version; as real servers do. */
export const freshnessWaitMs = 3000;

/** The storage is read in pages of at most this many while a selector fills one page. */
const maxStoragePage = 10_000;

type ExactPlan = Extract<ListPlan, { show: "exact" }>;
type LatestPlan = Extract<ListPlan, { show: "latest" }>;

interface Page {
  readonly items: readonly EncodedObject[];
  readonly revision: number;
  /** Where the page ended, when there is more. */
  readonly lastKey: string | undefined;
  readonly remaining: number;
}

export class ResourceLister {
  readonly #options: ResourceListerOptions;

  constructor(options: ResourceListerOptions) {
    this.#options = options;
  }

  async list(request: ListRequest): Promise<ListAnswer> {
    const prefix = scopePrefix(this.#options.names, request.namespace);
    const plan = planList(request, prefix);
    const page = await this.#page(plan, request, prefix);
    const { items, revision, lastKey, remaining } = page;
    const lost = this.#options.faults.lostFromLists(this.#options.names.resource);
    if (lost > 0) {
      const left = items.slice(0, Math.floor(items.length * (1 - lost)));
      return { items: left, resourceVersion: String(revision) };
    }
    return {
      items,
      resourceVersion: String(revision),
      ...(lastKey === undefined
        ? {}
        : { continueToken: encodeContinue({ revision, afterKey: lastKey }, prefix) }),
      // Remaining objects are counted without selectors, so with selectors the count would be
      // wrong.
      ...(lastKey === undefined || request.matches !== undefined
        ? {}
        : { remainingItemCount: remaining }),
    };
  }

  /** The storage's present revision. */
  async latestRevision(): Promise<number> {
    const { storage, names } = this.#options;
    return (await storage.get(names.prefix)).revision;
  }

  /** Waits for the cache; throws 504 when it does not hear of the revision in time. */
  async waitUntilFresh(revision: number): Promise<void> {
    const { cache, clock, timers, metrics, names } = this.#options;
    if (cache.ready && cache.revision >= revision) return;
    const startedAt = clock.monotonicMs();
    const fresh = await new Promise<boolean>((resolve) => {
      const cancel = timers.after(freshnessWaitMs, () => {
        stop();
        resolve(false);
      });
      const stop = cache.whenAtLeast(revision, () => {
        cancel();
        resolve(true);
      });
    });
    const waitedMs = elapsedMs(startedAt, clock.monotonicMs());
    const { group, resource } = names;
    metrics.readWaitSeconds.observe({ group, resource }, waitedMs / 1000);
    if (fresh) return;
    throw cache.ready ? tooLargeResourceVersion(revision, cache.revision) : storageInitializing();
  }

  #page(plan: ListPlan, request: ListRequest, prefix: string): Promise<Page> {
    switch (plan.show) {
      case "cached":
        return this.#cachedPage(
          plan.minRevision,
          { ...plan, afterKey: undefined },
          request,
          prefix,
        );
      case "latest":
        return this.#latestPage(plan, request, prefix);
      case "exact":
        return this.#exactPage(plan, request, prefix);
    }
  }

  async #cachedPage(
    minRevision: number,
    range: { readonly limit: number | undefined; readonly afterKey: string | undefined },
    request: ListRequest,
    prefix: string,
  ): Promise<Page> {
    await this.waitUntilFresh(minRevision);
    const { cache } = this.#options;
    const { revision } = cache;
    const { limit = Number.POSITIVE_INFINITY, afterKey } = range;
    const items: EncodedObject[] = [];
    for (const [key, encoded] of cache.under(prefix, afterKey)) {
      if (request.matches !== undefined && !request.matches(encoded.object)) continue;
      items.push(encoded);
      if (items.length < limit) continue;
      const remaining = cache.countUnder(prefix, key);
      return { items, revision, lastKey: remaining > 0 ? key : undefined, remaining };
    }
    return { items, revision, lastKey: undefined, remaining: 0 };
  }

  /** From the cache once it is current; from the storage if that takes too long. */
  async #latestPage(plan: LatestPlan, request: ListRequest, prefix: string): Promise<Page> {
    const revision = await this.latestRevision();
    try {
      const page = await this.#cachedPage(revision, plan, request, prefix);
      this.#countConsistentRead({ success: "true", fallback: "false" });
      return page;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 504) {
        this.#countConsistentRead({ success: "false", fallback: "false" });
        throw error;
      }
    }
    const page = await this.#storedPage(plan, request, prefix);
    this.#countConsistentRead({ success: "true", fallback: "true" });
    return page;
  }

  #countConsistentRead(result: { success: "true" | "false"; fallback: "true" | "false" }): void {
    const { group, resource } = this.#options.names;
    this.#options.metrics.consistentReads.inc({ group, resource, ...result });
  }

  async #exactPage(plan: ExactPlan, request: ListRequest, prefix: string): Promise<Page> {
    await this.waitUntilFresh(plan.revision);
    try {
      return await this.#storedPage(plan, request, prefix);
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      if (plan.afterKey === undefined) throw listExpired();
      const position = { revision: "latest", afterKey: plan.afterKey } as const;
      throw new ContinueExpiredError(encodeContinue(position, prefix));
    }
  }

  /** Reads until the page is full: a selector may drop most objects. */
  async #storedPage(
    plan: LatestPlan | ExactPlan,
    request: ListRequest,
    prefix: string,
  ): Promise<Page> {
    const { limit } = plan;
    let atRevision = plan.show === "exact" ? plan.revision : undefined;
    let afterKey = plan.afterKey;
    let readAtOnce = limit;
    const items: EncodedObject[] = [];
    for (;;) {
      const list = await this.#options.storage.list(prefix, {
        ...(atRevision === undefined ? {} : { atRevision }),
        ...(afterKey === undefined ? {} : { afterKey }),
        ...(readAtOnce === undefined ? {} : { limit: readAtOnce }),
      });
      atRevision = list.revision;
      let unread = list.records.length + list.remaining;
      for (const record of list.records) {
        unread -= 1;
        afterKey = record.key;
        const encoded = this.#options.decode(record);
        if (request.matches === undefined || request.matches(encoded.object)) items.push(encoded);
        if (items.length !== limit) continue;
        const lastKey = unread > 0 ? afterKey : undefined;
        return { items, revision: list.revision, lastKey, remaining: unread };
      }
      if (list.remaining === 0) {
        return { items, revision: list.revision, lastKey: undefined, remaining: 0 };
      }
      if (readAtOnce !== undefined) readAtOnce = Math.min(readAtOnce * 2, maxStoragePage);
    }
  }
}
