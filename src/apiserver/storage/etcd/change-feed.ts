// The watches of one storage on as few streams as possible. Nearly all follow one stream; a watch
// from further back than that stream remembers gets one of its own until it has caught up.
// Invariant: a watch is on exactly one stream until it is stopped or lost.
import { ChangeStream, type ChangeStreamOptions, type ChangeWatch } from "./change-stream.ts";

export class ChangeFeed {
  readonly #options: ChangeStreamOptions;
  readonly #streams = new Map<ChangeWatch, ChangeStream>();
  #main: ChangeStream | undefined;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
  }

  add(watch: ChangeWatch): void {
    const main = this.#mainFor(watch);
    this.#put(watch, watch.delivered < main.start ? this.#open(watch.delivered) : main);
  }

  /** Idempotent. */
  remove(watch: ChangeWatch): void {
    watch.stopped = true;
    this.#streams.get(watch)?.leave(watch);
    this.#streams.delete(watch);
  }

  #mainFor(watch: ChangeWatch): ChangeStream {
    if (this.#main === undefined || this.#main.isOver) this.#main = this.#open(watch.delivered);
    return this.#main;
  }

  #open(from: number): ChangeStream {
    return new ChangeStream({ ...this.#options, from, onAdvance: (one) => this.#advanced(one) });
  }

  #put(watch: ChangeWatch, stream: ChangeStream): void {
    this.#streams.set(watch, stream);
    stream.join(watch);
  }

  /** A stream that has caught up with the others joins them. */
  #advanced(stream: ChangeStream): void {
    const main = this.#main;
    if (main === undefined || main === stream || main.isOver) return;
    if (stream.revision < main.start) return;
    for (const watch of stream.handOver()) this.#put(watch, main);
  }
}
