// Bytes into lines, of whatever length the chunks are. A line that is longer than any proxy writes is
// cut off and said to be, so that rubbish cannot fill the memory; the last line waits for its end.

export interface LogLine {
  /** Counts from 1. */
  readonly number: number;
  readonly text: string;
  /** The line went on beyond what is kept. */
  readonly isCut: boolean;
}

/** Twice the longest request line and headers that nginx takes by default (4 × 8 kB). */
export const lineBytesMax = 65_536;

const newline = 0x0a;
const carriageReturn = 0x0d;

export class LineSplitter {
  #parts: Uint8Array[] = [];
  #keptBytes = 0;
  #isCut = false;
  #number = 0;

  /** The lines that end in this chunk. */
  *push(chunk: Uint8Array): Generator<LogLine> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      yield this.#take();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The stream is over: what has come of a last line is all of it. */
  *end(): Generator<LogLine> {
    if (this.#keptBytes > 0 || this.#isCut) yield this.#take();
  }

  #keep(bytes: Uint8Array): void {
    const room = lineBytesMax - this.#keptBytes;
    if (bytes.byteLength > room) this.#isCut = true;
    const kept = bytes.subarray(0, room);
    if (kept.byteLength === 0) return;
    // A copy: the sender may use the chunk again.
    this.#parts.push(kept.slice());
    this.#keptBytes += kept.byteLength;
  }

  #take(): LogLine {
    const bytes = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    const whole = Buffer.from(bytes ?? []);
    const hasReturn = !this.#isCut && whole.at(-1) === carriageReturn;
    const text = whole.toString("utf8", 0, hasReturn ? whole.length - 1 : whole.length);
    this.#number += 1;
    const line = { number: this.#number, text, isCut: this.#isCut };
    this.#parts = [];
    this.#keptBytes = 0;
    this.#isCut = false;
    return line;
  }
}
