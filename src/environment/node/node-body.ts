// A readable stream of Node as an async iterable of its chunks: the very Buffers the stream emits,
// with no copy (a stream's own iterator joins what has queued up). Reading ahead is bounded: beyond
// the bound the stream is paused, which closes the TCP window in the end.

import type { Readable } from "node:stream";
import { assert } from "../assert.ts";

/** Four reads of a socket: enough to keep a fast sender busy, little enough to hold a thousand. */
const readAheadBytes = 256 * 1024;

export const noChunks: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

/** Leaving the loop early destroys the stream; a second loop goes on where the first stopped. */
export function chunksOf(
  stream: Readable,
  describeFailure: (error: Error) => Error,
): AsyncIterable<Uint8Array> {
  const reader = new ChunkReader(stream, describeFailure);
  return { [Symbol.asyncIterator]: () => reader };
}

type Outcome = { readonly error: Error } | "ended";

interface Waiter {
  resolve(result: IteratorResult<Uint8Array, undefined>): void;
  reject(error: Error): void;
}

/**
 * Invariant: `waiting` is set only while `queue` is empty and `outcome` is unset, for otherwise
 * `next` answers at once. `queuedBytes` is the length of `queue`.
 */
class ChunkReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #stream: Readable;
  readonly #describeFailure: (error: Error) => Error;
  readonly #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #outcome: Outcome | undefined;
  #waiting: Waiter | undefined;
  #flowing = false;

  constructor(stream: Readable, describeFailure: (error: Error) => Error) {
    this.#stream = stream;
    this.#describeFailure = describeFailure;
    stream.on("end", () => this.#finish("ended"));
    stream.on("error", (error: Error) => this.#finish({ error: describeFailure(error) }));
    stream.on("close", () => this.#onClose());
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const chunk = this.#queue.shift();
    if (chunk !== undefined) {
      this.#queuedBytes -= chunk.length;
      const isCounted = this.#queue.length > 0 ? this.#queuedBytes >= 0 : this.#queuedBytes === 0;
      assert(isCounted, "what is queued is counted");
      this.#flow();
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#outcome === "ended") return Promise.resolve({ done: true, value: undefined });
    if (this.#outcome !== undefined) return Promise.reject(this.#outcome.error);
    this.#flow();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#finish("ended");
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#stream.destroy();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Begins to read, or goes on: nothing is read before the first chunk is asked for. */
  #flow(): void {
    if (this.#flowing || this.#outcome !== undefined) return;
    if (this.#queuedBytes >= readAheadBytes) return;
    this.#flowing = true;
    if (this.#stream.listenerCount("data") === 0) {
      this.#stream.on("data", (chunk: Uint8Array) => this.#onData(chunk));
    } else {
      this.#stream.resume();
    }
  }

  #onData(chunk: Uint8Array): void {
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      assert(this.#queue.length === 0, "a reader waits only while no chunk does");
      assert(this.#outcome === undefined, "a reader waits only until the end");
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: chunk });
      return;
    }
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    if (this.#queuedBytes < readAheadBytes) return;
    this.#flowing = false;
    this.#stream.pause();
  }

  #onClose(): void {
    // Every orderly exchange closes too, and an unneeded error costs its stack.
    if (this.#outcome !== undefined) return;
    // Closed without an end: a reader must not take a part for the whole.
    this.#finish({ error: this.#describeFailure(new Error("closed before its end")) });
  }

  #finish(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (outcome === "ended") waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(outcome.error);
  }
}
