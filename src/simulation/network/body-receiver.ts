// The receiving end of a body: an iterable of the chunks that have arrived. A chunk counts as taken
// when the reader gets it, or would get it had it not left, which is what opens the sender's window
// again. A break is seen after the chunks that arrived before it; an abort by the reader itself is
// seen at once.
import { assert } from "../../environment/assert.ts";
import type { NetworkError } from "../../environment/network.ts";

type Chunk = IteratorResult<Uint8Array, undefined>;

interface Waiter {
  readonly resolve: (chunk: Chunk) => void;
  readonly reject: (error: unknown) => void;
}

const done: Chunk = { done: true, value: undefined };

export class BodyReceiver implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #onTake: (bytes: number) => void;
  readonly #onFinish: (how: "ended" | "left") => void;
  /** Invariant: empty while a reader waits. */
  readonly #chunks: Uint8Array[] = [];
  readonly #waiters: Waiter[] = [];
  #end: "open" | "ended" | NetworkError = "open";
  #finished = false;

  constructor(options: {
    onTake: (bytes: number) => void;
    /** Called once: the reader has reached the end, or has left before it. */
    onFinish: (how: "ended" | "left") => void;
  }) {
    this.#onTake = options.onTake;
    this.#onFinish = options.onFinish;
  }

  /** More may arrive. */
  get open(): boolean {
    return this.#end === "open";
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(bytes: Uint8Array): void {
    if (this.#end !== "open") {
      this.#onTake(bytes.length);
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#chunks.push(bytes);
      return;
    }
    assert(this.#chunks.length === 0, "a reader waits only while no chunk does");
    waiter.resolve({ done: false, value: bytes });
    this.#onTake(bytes.length);
  }

  end(): void {
    if (this.#end !== "open") return;
    this.#end = "ended";
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(done);
    if (this.#chunks.length === 0) this.#finish("ended");
  }

  fail(error: NetworkError, options: { discard: boolean }): void {
    if (this.#finished) return;
    if (options.discard) this.#chunks.length = 0;
    else if (this.#end !== "open") return;
    this.#end = error;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  next(): Promise<Chunk> {
    const bytes = this.#chunks.shift();
    if (bytes !== undefined) {
      if (this.#chunks.length === 0 && this.#end === "ended") this.#finish("ended");
      this.#onTake(bytes.length);
      return Promise.resolve({ done: false, value: bytes });
    }
    if (this.#end === "open") {
      return new Promise((resolve, reject) => {
        this.#waiters.push({ resolve, reject });
      });
    }
    return this.#end === "ended" ? Promise.resolve(done) : Promise.reject(this.#end);
  }

  return(): Promise<Chunk> {
    for (const bytes of this.#chunks.splice(0)) this.#onTake(bytes.length);
    if (this.#end === "open") this.#end = "ended";
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(done);
    this.#finish("left");
    return Promise.resolve(done);
  }

  #finish(how: "ended" | "left"): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#onFinish(how);
  }
}
