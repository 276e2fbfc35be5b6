// A storage for tests that knows of each of its watches how much that has heard, so that it can be
// waited for until all have heard of the present, however long they take.
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
  /** Of each watch that goes on, the revision up to which it has been told everything. */
  readonly #heard = new Map<symbol, number>();

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
      if (this.#heard.has(own)) this.#heard.set(own, revision);
    };
    this.#heard.set(own, fromRevision);
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
        this.#heard.delete(own);
        handlers.onLost(error);
      },
    });
    return {
      stop: () => {
        this.#heard.delete(own);
        watch.stop();
      },
    };
  }

  /** Resolves when every watch has heard of all that is written until now, or is lost. */
  async settle(): Promise<void> {
    const { revision } = await this.get("/settle");
    while ([...this.#heard.values()].some((heard) => heard < revision)) {
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    }
  }
}

function revisionOf(event: StorageEvent): number {
  return event.type === "put" ? event.record.revision : event.revision;
}
