// Journeys that wait to be written, in the order in which they came. Bounded by number and by
// bytes; if there is no room, the new one is refused, never a waiting one.
import type { MonotonicMs } from "../environment/clock.ts";

export interface WaitingRecord {
  readonly id: string;
  readonly json: string;
  readonly addedAt: MonotonicMs;
}

/** A disk that stands still for 20 s at a thousand journeys a second. */
const recordsMax = 20_000;
const bytesMax = 32 * 1024 * 1024;

/** A batch is written within some milliseconds, so that little is lost when the machine stops. */
export const batchMax = 500;
const batchBytesMax = 1024 * 1024;

export class RecordQueue {
  #records: WaitingRecord[] = [];
  #bytes = 0;
  /** How many were ever taken in. */
  #taken = 0;
  /** Those who wait until so many of them have left, in order. */
  #flushes: { readonly left: number; readonly resolve: () => void }[] = [];

  get size(): number {
    return this.#records.length;
  }

  /** A flush waits for its content. */
  get isAwaited(): boolean {
    return this.#flushes.length > 0;
  }

  get oldestAt(): MonotonicMs | undefined {
    return this.#records[0]?.addedAt;
  }

  /** False when there is no room. */
  add(record: WaitingRecord): boolean {
    const { length } = record.json;
    if (this.#records.length >= recordsMax || this.#bytes + length > bytesMax) return false;
    this.#records.push(record);
    this.#bytes += length;
    this.#taken += 1;
    return true;
  }

  /** Resolves when all that is in it now has left it. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      this.#flushes.push({ left: this.#taken, resolve });
      this.#resolveFlushes();
    });
  }

  /** The next ones to be written together; they stay here until they are. */
  batch(): readonly WaitingRecord[] {
    let bytes = 0;
    const end = this.#records.findIndex(({ json }, index) => {
      bytes += json.length;
      return index > 0 && (index >= batchMax || bytes > batchBytesMax);
    });
    return this.#records.slice(0, end === -1 ? undefined : end);
  }

  /** That many of the first are written, or given up. */
  remove(count: number): void {
    for (const { json } of this.#records.splice(0, count)) this.#bytes -= json.length;
    this.#resolveFlushes();
  }

  #resolveFlushes(): void {
    const left = this.#taken - this.#records.length;
    for (const flush of this.#flushes) if (flush.left <= left) flush.resolve();
    this.#flushes = this.#flushes.filter((flush) => flush.left > left);
  }
}
