// A storage for tests that knows the revision of each of its watches, so that a test can wait until
// all are up to date.
import type {
  ListOptions,
  ListResult,
  Storage,
  StorageEvent,
  StorageWatch,
  WriteResult,
} from "../src/apiserver/storage/storage.ts";

type Handlers = Parameters<Storage["watch"]>[2];

const lookAgainMs = 5;

export class SettlingStorage implements Storage {
  readonly #storage: Storage;
  /** Of each open watch, the revision up to which all events were delivered. */
  readonly #reached = new Map<symbol, number>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get: Storage["get"] = (key) => this.#storage.get(key);

  list(prefix: string, options?: ListOptions): Promise<ListResult> {
    return this.#storage.list(prefix, options);
  }

  put(key: string, value: Uint8Array, expectedRevision: number): Promise<WriteResult> {
    return this.#storage.put(key, value, expectedRevision);
  }

  delete(key: string, expectedRevision: number): Promise<WriteResult> {
    return this.#storage.delete(key, expectedRevision);
  }

  watch(prefix: string, fromRevision: number, handlers: Handlers): StorageWatch {
    const own = Symbol(prefix);
    const note = (revision: number): void => {
      if (this.#reached.has(own)) this.#reached.set(own, revision);
    };
    this.#reached.set(own, fromRevision);
    const watch = this.#storage.watch(prefix, fromRevision, {
      onEvent: (event) => {
        handlers.onEvent(event);
        note(revisionOf(event));
      },
      onProgress: (revision) => {
        handlers.onProgress(revision);
        note(revision);
      },
      onLost: (error) => {
        this.#reached.delete(own);
        handlers.onLost(error);
      },
    });
    return {
      stop: () => {
        this.#reached.delete(own);
        watch.stop();
      },
    };
  }

  /** Resolves when every watch has delivered all present writes, or is lost. */
  async settle(): Promise<void> {
    const { revision } = await this.get("/settle");
    while ([...this.#reached.values()].some((reached) => reached < revision)) {
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    }
  }
}

function revisionOf(event: StorageEvent): number {
  return event.type === "put" ? event.record.revision : event.revision;
}
