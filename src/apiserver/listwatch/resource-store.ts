// All of one resource in one API server: reads, writes, lists and watches. Writes and quorum reads
// go to the storage; everything else is served from this server's own watch cache, which may be
// behind. The cache starts with the first request that needs it, or with `start`.
import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import { type Clock, monotonicAfter } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { BodyWriter } from "../../environment/network.ts";
import { jitter, type Random } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import { ApiError } from "../api-error.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Storage, StoredRecord } from "../storage/storage.ts";
import { errorLine } from "./cache-event.ts";
import type { CacheFaults } from "./cache-faults.ts";
import { CacheFeed } from "./cache-feed.ts";
import { type CacheMetrics, type CacheTally, cacheMetrics } from "./cache-metrics.ts";
import {
  type EncodedObject,
  encodeForStorage,
  type RecordDecoder,
  recordDecoder,
  type StoredForm,
  storedObject,
} from "./encoded-object.ts";
import type { ListAnswer, ListRequest } from "./list-plan.ts";
import { alreadyExists, conflict, notFound, watchExpired } from "./refusals.ts";
import { ResourceLister } from "./resource-lister.ts";
import { type ResourceNames, scopePrefix, storageKey, storageKeyOf } from "./resource-names.ts";
import { parseForRead } from "./resource-version.ts";
import { WatchCache } from "./watch-cache.ts";
import { planWatch, type WatchPlan, type WatchRequest } from "./watch-plan.ts";
import { type WatchStart, WatchStream } from "./watch-stream.ts";

interface ResourceStoreOptions extends ResourceNames {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly faults: CacheFaults;
  readonly metrics: Registry;
  /** Absent: objects are stored as they are shown. */
  readonly storedForm?: StoredForm;
}

/** A watch without a timeout of its own ends after 30 to 60 minutes, to spread reconnections. */
const minWatchMs = 30 * 60_000;

/** Each lost race means that another writer has won one; so many in a row are a fault of ours. */
const maxWriteAttempts = 1000;

export class ResourceStore {
  readonly #options: ResourceStoreOptions;
  readonly #metrics: CacheMetrics;
  readonly #tally: CacheTally;
  readonly #decode: RecordDecoder;
  readonly #cache: WatchCache;
  readonly #feed: CacheFeed;
  readonly #lister: ResourceLister;

  constructor(options: ResourceStoreOptions) {
    const { clock } = options;
    this.#options = options;
    this.#metrics = cacheMetrics(options.metrics);
    this.#tally = this.#metrics.tally(options);
    this.#decode = recordDecoder(options.storedForm);
    const decode = this.#decode;
    this.#cache = new WatchCache({ clock, tally: this.#tally, decode });
    const cache = this.#cache;
    this.#feed = new CacheFeed({ ...options, cache });
    this.#lister = new ResourceLister({
      ...options,
      names: options,
      cache,
      decode,
      metrics: this.#metrics,
    });
  }

  /** Starts the cache. Idempotent. */
  start(): void {
    this.#feed.start();
  }

  /** Ends all watches. Idempotent. */
  stop(): void {
    this.#feed.stop();
  }

  /** Resolves when the cache can be read. */
  async waitUntilReady(): Promise<void> {
    this.start();
    await this.#lister.waitUntilFresh(0);
  }

  /** Everything in the cache, in order; the last known state during a relist. */
  *cached(): Generator<KubeObject, void, undefined> {
    for (const [, { object }] of this.#cache.under(this.#options.prefix)) yield object;
  }

  /** Calls back at each change of the cache; the result ends this. */
  onChange(changed: () => void): () => void {
    let stop: () => void;
    const follow = (): void => {
      const onEnd = (): void => {
        stop = this.#cache.whenAtLeast(0, () => {
          follow();
          changed();
        });
      };
      stop = this.#cache.listen(undefined, { onEvent: changed, onEnd });
    };
    follow();
    return () => stop();
  }

  /** The object as the storage has it now. */
  async get(namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const record = await this.#read(namespace, name);
    return record && this.#decode(record).object;
  }

  /** The object as the cache has it, no older than the given version. */
  async getCached(
    namespace: string | undefined,
    name: string,
    minResourceVersion?: string,
  ): Promise<KubeObject | undefined> {
    const revision = parseForRead(minResourceVersion);
    this.start();
    await this.#lister.waitUntilFresh(revision);
    return this.#cache.get(storageKey(this.#options, namespace, name))?.object;
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const value = this.#encode(object);
    const key = storageKeyOf(this.#options, object);
    const result = await this.#options.storage.put(key, value, 0);
    if (!result.done) throw alreadyExists(this.#options, object.metadata.name);
    return this.#decode({ key, value, revision: result.revision }).object;
  }

  /**
   * Read, change, write. `change` gets the current object, which it must leave as it is, and
   * returns the one to be stored, or throws. It is called again when another writer was faster;
   * whether the client's own version then still fits is for `change` to say. A result that
   * equals the current object is not written: no new version, no event.
   */
  async update(
    namespace: string | undefined,
    name: string,
    change: (current: KubeObject) => KubeObject,
  ): Promise<{ object: KubeObject; written: boolean }> {
    let record = await this.#read(namespace, name);
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      if (record === undefined) throw notFound(this.#options, name);
      const current = this.#decode(record).object;
      const changed = change(current);
      if (changed === current) return { object: current, written: false };
      const value = this.#encode(changed);
      if (isSame(value, record.value)) return { object: current, written: false };
      const { key } = record;
      const result = await this.#options.storage.put(key, value, record.revision);
      if (result.done) {
        const { object } = this.#decode({ key, value, revision: result.revision });
        return { object, written: true };
      }
      record = result.current;
    }
    throw conflict(this.#options, name);
  }

  /**
   * Removes the object for good and gives its last state under the version of the removal. `check`
   * throws if the current object must not be removed.
   */
  async delete(
    namespace: string | undefined,
    name: string,
    check: (current: KubeObject) => void,
  ): Promise<KubeObject> {
    let record = await this.#read(namespace, name);
    for (let attempt = 0; attempt < maxWriteAttempts; attempt++) {
      if (record === undefined) throw notFound(this.#options, name);
      const current = this.#decode(record);
      check(current.object);
      const result = await this.#options.storage.delete(record.key, record.revision);
      if (result.done) return current.at(result.revision).object;
      record = result.current;
    }
    throw conflict(this.#options, name);
  }

  list(request: ListRequest): Promise<ListAnswer> {
    this.start();
    return this.#lister.list(request);
  }

  /**
   * Streams to the end. Throws an `ApiError` before the first write; the first write has no bytes
   * and says that the watch is accepted, so a writer may send its status then.
   */
  async watch(request: WatchRequest, writer: BodyWriter, closed: AbortSignal): Promise<void> {
    const { clock, faults, random } = this.#options;
    const plan = planWatch(request);
    const timeoutMs = (request.timeoutSeconds ?? 0) * 1000 || jitter(random, minWatchMs, 1);
    const deadline = monotonicAfter(clock.monotonicMs(), timeoutMs);
    this.start();
    await this.#lister.waitUntilFresh(0);
    let start: WatchStart;
    try {
      start = await this.#startOf(plan, request.namespace);
    } catch (error) {
      if (!(error instanceof ApiError) || faults.expiredWatchAnswer === "status") throw error;
      writer.end(errorLine(error));
      return;
    }
    const stream = new WatchStream({
      ...this.#options,
      cache: this.#cache,
      names: this.#options,
      tally: this.#tally,
      request,
      start,
      deadline,
      writer,
      closed,
    });
    return stream.run();
  }

  async #startOf(plan: WatchPlan, namespace: string | undefined): Promise<WatchStart> {
    const asked = plan.start === "state" ? plan.minRevision : plan.afterRevision;
    const revision = asked === "latest" ? await this.#lister.latestRevision() : asked;
    if (plan.start === "state") {
      await this.#lister.waitUntilFresh(revision === "cached" ? 0 : revision);
      const objects: EncodedObject[] = [];
      for (const [, object] of this.#cache.under(scopePrefix(this.#options, namespace))) {
        objects.push(object);
      }
      const { endBookmark } = plan;
      return { from: "state", objects, revision: this.#cache.revision, endBookmark };
    }
    const { windowStart } = this.#cache;
    const from = revision === "cached" ? this.#cache.revision : revision;
    if (from < windowStart) throw watchExpired(from, windowStart);
    return { from: "changes", revision: from };
  }

  #encode(object: KubeObject): Uint8Array {
    return encodeForStorage(this.#options.storedForm?.toStorage(object) ?? object);
  }

  async #read(namespace: string | undefined, name: string): Promise<StoredRecord | undefined> {
    const key = storageKey(this.#options, namespace, name);
    return (await this.#options.storage.get(key)).record;
  }
}

/**
 * Equal objects have encodings of equal length, though perhaps with their fields in other order.
 */
function isSame(value: Uint8Array, stored: Uint8Array): boolean {
  if (value.length !== stored.length) return false;
  if (Buffer.compare(value, stored) === 0) return true;
  return isDeepStrictEqual(storedObject(value), storedObject(stored));
}

// The stores of one server, one for each kind it serves. Built-in kinds have theirs from the start;
// a custom kind gets one at its first use and loses it with its definition.

/** Options that all stores of a server share. */
type SharedStoreOptions = Omit<
  ResourceStoreOptions,
  "group" | "version" | "resource" | "kind" | "prefix" | "storedForm"
>;

export class ResourceStores {
  readonly #shared: SharedStoreOptions;
  readonly #stores: Map<ResourceKind, ResourceStore>;

  constructor(kinds: readonly ResourceKind[], shared: SharedStoreOptions) {
    this.#shared = shared;
    this.#stores = new Map(kinds.map((kind) => [kind, this.#make(kind)]));
  }

  of(kind: ResourceKind): ResourceStore {
    kind.custom?.refuseUse();
    const store = this.#stores.get(kind);
    if (store !== undefined) return store;
    if (kind.custom === undefined) throw new Error(`this server has no kind ${kind.kind}`);
    const made = this.#make(kind);
    this.#stores.set(kind, made);
    return made;
  }

  remove(kind: ResourceKind): void {
    this.#stores.get(kind)?.stop();
    this.#stores.delete(kind);
  }

  /** Fills their caches before the first request. */
  start(): void {
    for (const store of this.#stores.values()) store.start();
  }

  /** Ends every watch. Idempotent. */
  stop(): void {
    for (const store of this.#stores.values()) store.stop();
  }

  #make({ group, version, resource, kind, prefix, storedForm }: ResourceKind): ResourceStore {
    const names = { group, version, resource, kind, prefix };
    const form = storedForm === undefined ? {} : { storedForm };
    return new ResourceStore({ ...this.#shared, ...names, ...form });
  }
}
