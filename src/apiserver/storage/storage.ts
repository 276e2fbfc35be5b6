// Where an API server keeps its objects: a key/value store with one revision counter, in the shape
// of etcd, so that several API servers can share one. `memory-storage.ts` implements it in this
// process, `etcd/` on a real etcd; `storage.contract.ts` holds what every implementation must do.

export interface StoredRecord {
  readonly key: string;
  /** JSON of the object without its resourceVersion. Never changed after it is stored. */
  readonly value: Uint8Array;
  /** The revision that wrote this version. */
  readonly revision: number;
}

export type StorageEvent =
  | {
      readonly type: "put";
      readonly record: StoredRecord;
      readonly previous: StoredRecord | undefined;
    }
  | {
      readonly type: "delete";
      readonly key: string;
      readonly revision: number;
      readonly previous: StoredRecord;
    };

/** Done at `revision`, or refused because the key had another revision than expected. */
export type WriteResult =
  | { readonly done: true; readonly revision: number }
  | { readonly done: false; readonly current: StoredRecord | undefined };

export interface ListOptions {
  readonly limit?: number;
  /** Only keys after this one. */
  readonly afterKey?: string;
  /** As it was at this revision, or `CompactedError`. */
  readonly atRevision?: number;
}

export interface ListResult {
  /** In key order. */
  readonly records: readonly StoredRecord[];
  /** The revision this list shows. */
  readonly revision: number;
  /** Records after the last one returned. */
  readonly remaining: number;
}

export interface StorageWatch {
  /** Idempotent. */
  stop(): void;
}

export interface Storage {
  get(key: string): Promise<{ record: StoredRecord | undefined; revision: number }>;
  list(prefix: string, options?: ListOptions): Promise<ListResult>;
  /** Writes if the key's revision is `expectedRevision`; 0 means the key must not exist. */
  put(key: string, value: Uint8Array, expectedRevision: number): Promise<WriteResult>;
  delete(key: string, expectedRevision: number): Promise<WriteResult>;
  /**
   * Every event under the prefix after `fromRevision`, in order, each once. `onProgress` says that
   * all up to a revision has been delivered though nothing under the prefix changed. `onLost` says
   * that the watch has ended by itself (history compacted, connection gone): list again.
   */
  watch(
    prefix: string,
    fromRevision: number,
    handlers: {
      onEvent(event: StorageEvent): void;
      onProgress(revision: number): void;
      onLost(error: Error): void;
    },
  ): StorageWatch;
  /** Resolves if the storage answers; rejects as reads do. One that is always there has none. */
  check?(): Promise<void>;
}

/** The asked revision is older than what the storage still knows. */
export class CompactedError extends Error {
  override readonly name = "CompactedError";
  readonly code = "COMPACTED";
  readonly oldestRevision: number;

  constructor(oldestRevision: number) {
    super(`revisions before ${oldestRevision} have been compacted`);
    this.oldestRevision = oldestRevision;
  }
}

/**
 * The storage gave no answer that counts. A write may have been done all the same, so a caller must
 * not conclude from this error that it was not.
 */
export class StorageUnavailableError extends Error {
  override readonly name = "StorageUnavailableError";
  readonly code = "STORAGE_UNAVAILABLE";
}

/** The same, after waiting for as long as a request may take. */
export class StorageTimeoutError extends Error {
  override readonly name = "StorageTimeoutError";
  readonly code = "STORAGE_TIMEOUT";
  readonly during: "read" | "write";

  constructor(during: "read" | "write", message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.during = during;
  }
}
