// A storage on a real etcd, so that API servers which are processes of their own share one and
// survive each other. Every key lies under the storage's root; a write is a transaction that
// compares the key's revision first, so two servers never overwrite each other.
import type { Environment } from "../../../environment/environment.ts";
import { listAt, type RawRecord, requiredRecord } from "../../../kube/kinds/fields.ts";
import {
  CompactedError,
  type ListOptions,
  type ListResult,
  type Storage,
  StorageUnavailableError,
  type StorageWatch,
  type StoredRecord,
  type WriteResult,
} from "../storage.ts";
import { ChangeFeed } from "./change-feed.ts";
import type { ChangeWatch } from "./change-stream.ts";
import { Compactor } from "./compactor.ts";
import { EtcdGateway } from "./etcd-gateway.ts";
import { EtcdRefusal } from "./etcd-refusal.ts";
import {
  base64,
  base64Bytes,
  headerRevision,
  keyAfter,
  prefixEnd,
  recordsOf,
  wholeNumberAt,
} from "./etcd-wire.ts";

export interface EtcdStorageOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  /** `http://127.0.0.1:2379` of each member of one etcd. */
  readonly endpoints: readonly string[];
  /** The start of every key, when several clusters share an etcd: `/lab-1`. */
  readonly root?: string;
  /** 0 leaves compaction to others; five minutes unless given, as in the real server. */
  readonly compactEveryMs?: number;
}

/** Keys read at once: of usual objects 2 MB, and a page is one block of the event loop. */
const pageKeys = 1000;

/** DefaultHealthcheckTimeout in k8s.io/apiserver/pkg/storage/storagebackend. */
const checkDeadlineMs = 2_000;

export class EtcdStorage implements Storage {
  readonly #root: string;
  readonly #gateway: EtcdGateway;
  readonly #changes: ChangeFeed;

  constructor(options: EtcdStorageOptions) {
    this.#root = options.root ?? "";
    this.#gateway = new EtcdGateway(options);
    this.#changes = new ChangeFeed({ ...options, gateway: this.#gateway, root: this.#root });
    const compactor = new Compactor({ ...options, gateway: this.#gateway });
    // Never rejects; it ends with the gateway.
    void compactor.run();
  }

  /** Ends every watch, silently, and every call. Idempotent. */
  stop(): void {
    this.#gateway.stop();
  }

  async get(key: string): Promise<{ record: StoredRecord | undefined; revision: number }> {
    const body = { key: base64(this.#root + key) };
    const answer = await this.#call("kv/range", body, "read");
    return { record: recordsOf(answer, this.#root)[0], revision: headerRevision(answer) };
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    const { limit = Number.POSITIVE_INFINITY, afterKey } = options;
    const records: StoredRecord[] = [];
    let { atRevision } = options;
    let from =
      afterKey === undefined ? base64(this.#root + prefix) : keyAfter(this.#root + afterKey);
    let atOnce = pageKeys;
    for (;;) {
      const wanted = Math.min(limit - records.length, atOnce);
      const page = await this.#page(prefix, from, wanted, atRevision);
      if (page === "too large") {
        atOnce = Math.ceil(wanted / 2);
        continue;
      }
      atRevision ??= page.revision;
      for (const record of page.records) records.push(record);
      const last = page.records.at(-1);
      if (page.remaining === 0 || last === undefined || records.length >= limit) {
        return { records, revision: atRevision, remaining: page.remaining };
      }
      from = keyAfter(this.#root + last.key);
    }
  }

  async put(key: string, value: Uint8Array, expectedRevision: number): Promise<WriteResult> {
    const put = { key: base64(this.#root + key), value: base64Bytes(value) };
    return this.#write(key, { request_put: put }, expectedRevision);
  }

  async delete(key: string, expectedRevision: number): Promise<WriteResult> {
    // To etcd an absent key has revision 0, and its removal is a success that changes nothing.
    if (expectedRevision === 0) return { done: false, current: (await this.get(key)).record };
    const removal = { key: base64(this.#root + key) };
    return this.#write(key, { request_delete_range: removal }, expectedRevision);
  }

  watch(
    prefix: string,
    fromRevision: number,
    handlers: Parameters<Storage["watch"]>[2],
  ): StorageWatch {
    const watch: ChangeWatch = { prefix, handlers, delivered: fromRevision, stopped: false };
    this.#changes.add(watch);
    return { stop: () => this.#changes.remove(watch) };
  }

  async check(): Promise<void> {
    const body = { key: base64(`${this.#root}/health`) };
    await this.#call("kv/range", body, "read", checkDeadlineMs);
  }

  async #write(key: string, success: object, expectedRevision: number): Promise<WriteResult> {
    const encoded = base64(this.#root + key);
    const revision = String(expectedRevision);
    const compare = { key: encoded, target: "MOD", result: "EQUAL", mod_revision: revision };
    const failure = { request_range: { key: encoded } };
    const body = { compare: [compare], success: [success], failure: [failure] };
    const answer = await this.#call("kv/txn", body, "write");
    if (answer["succeeded"] === true) return { done: true, revision: headerRevision(answer) };
    const [response] = listAt(answer, "responses");
    const range = requiredRecord(requiredRecord(response, "response")["response_range"], "range");
    return { done: false, current: recordsOf(range, this.#root)[0] };
  }

  async #page(
    prefix: string,
    from: string,
    limit: number,
    atRevision: number | undefined,
  ): Promise<ListResult | "too large"> {
    const end = prefixEnd(this.#root + prefix);
    const at = atRevision === undefined ? {} : { revision: String(atRevision) };
    const body = { key: from, range_end: end, limit: String(limit), ...at };
    try {
      const answer = await this.#gateway.call({ path: "kv/range", body, kind: "read" });
      const records = recordsOf(answer, this.#root);
      const remaining = wholeNumberAt(answer, "count") - records.length;
      return { records, revision: atRevision ?? headerRevision(answer), remaining };
    } catch (error) {
      if (!(error instanceof EtcdRefusal)) throw error;
      if (error.isTooLarge && limit > 1) return "too large";
      if (error.isCompacted) throw new CompactedError((atRevision ?? 0) + 1);
      if (error.isFuture) throw new RangeError(`revision ${atRevision} is in the future`);
      throw unavailable(error);
    }
  }

  async #call(
    path: string,
    body: object,
    kind: "read" | "write",
    deadlineMs?: number,
  ): Promise<RawRecord> {
    const limited = deadlineMs === undefined ? {} : { deadlineMs };
    try {
      return await this.#gateway.call({ path, body, kind, ...limited });
    } catch (error) {
      throw error instanceof EtcdRefusal ? unavailable(error) : error;
    }
  }
}

/** `etcdserver: request timed out`, `etcdserver: mvcc: database space exceeded`, … */
function unavailable(error: EtcdRefusal): StorageUnavailableError {
  return new StorageUnavailableError(error.message, { cause: error });
}
