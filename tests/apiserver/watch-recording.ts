// A client of a watch that reads as fast or as slowly as a test asks, and keeps what it got. It
// takes the place of the environment's network.

import { ApiError } from "../../src/apiserver/api-error.ts";
import type { ResourceStore } from "../../src/apiserver/listwatch/resource-store.ts";
import type { WatchRequest } from "../../src/apiserver/listwatch/watch-plan.ts";
import type { BodyWriter } from "../../src/environment/network.ts";

export interface RecordedEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly [field: string]: unknown;
  };
}

export class WatchRecording implements BodyWriter {
  /** Whether bytes pile up at the server. */
  reading = true;
  ending: "end" | "abort" | undefined;
  /** The error that the watch threw instead of streaming. */
  refusal: unknown;
  writes = 0;
  pendingBytes = 0;
  /** Resolves when the server has ended the watch, or the client has gone. */
  readonly done: Promise<void>;
  readonly #client = new AbortController();
  #text = "";

  constructor(store: ResourceStore, request: Partial<WatchRequest> = {}) {
    const asked = { allowWatchBookmarks: false, ...request };
    this.done = store.watch(asked, this, this.#client.signal).catch((error: unknown) => {
      this.refusal = error instanceof ApiError ? error.toStatus() : error;
    });
  }

  get events(): readonly RecordedEvent[] {
    const lines = this.#text.split("\n").slice(0, -1);
    return lines.map((line): RecordedEvent => JSON.parse(line));
  }

  /** `ADDED a/web-0@12`; a bookmark is `BOOKMARK @12`, with a `!` where the initial state ends. */
  get summary(): readonly string[] {
    return this.events.map(({ type, object: { metadata, ...rest } }) => {
      if (type === "ERROR") return `ERROR ${String(rest["code"])} ${String(rest["message"])}`;
      const { namespace, name, resourceVersion, annotations } = metadata;
      const path = namespace === undefined ? (name ?? "") : `${namespace}/${name}`;
      const mark = annotations?.["k8s.io/initial-events-end"] === "true" ? "!" : "";
      return `${type} ${path}@${resourceVersion}${mark}`;
    });
  }

  leave(): void {
    this.#client.abort();
  }

  write(bytes: Uint8Array): void {
    this.writes += 1;
    if (this.reading) this.#text += Buffer.from(bytes).toString("utf8");
    else this.pendingBytes += bytes.length;
  }

  /** Never while the client does not read. */
  drained(): Promise<void> {
    return this.pendingBytes === 0 ? Promise.resolve() : new Promise(() => undefined);
  }

  end(bytes?: Uint8Array): void {
    if (bytes !== undefined) this.write(bytes);
    this.ending = "end";
  }

  abort(): void {
    this.ending = "abort";
  }
}
