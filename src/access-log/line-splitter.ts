// Bytes into lines, of whatever length the chunks are. A line that is longer than any proxy writes is
// cut off and marked as cut, so that rubbish cannot fill the memory; the last line waits for its end.
// Blank lines are counted and skipped at the cost of a byte each.

export interface LogLine {
  /** Counts from 1, blank lines too. */
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
  readonly #bytesMax: number;
  /** A copy of what has come of a line without its end: the sender may use its chunks again. */
  #kept = Buffer.alloc(0);
  #keptBytes = 0;
  #isCut = false;
  #number = 0;

  constructor(options: { readonly bytesMax?: number } = {}) {
    this.#bytesMax = options.bytesMax ?? lineBytesMax;
  }

  /** The lines that end in this chunk and are not blank. */
  *push(chunk: Uint8Array): Generator<LogLine> {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    while (start < bytes.length) {
      if (bytes[start] === newline && this.#keptBytes === 0) {
        this.#number += 1;
        start += 1;
        continue;
      }
      const end = bytes.indexOf(newline, start);
      if (end < 0) {
        this.#keep(bytes.subarray(start));
        return;
      }
      const line = this.#take(bytes.subarray(start, end));
      if (line.text !== "") yield line;
      start = end + 1;
    }
  }

  /** The stream is over: what has come of a last line is all of it. */
  *end(): Generator<LogLine> {
    if (this.#keptBytes === 0) return;
    const line = this.#take(Buffer.alloc(0));
    if (line.text !== "") yield line;
  }

  #keep(bytes: Buffer): void {
    const neededBytes = Math.min(this.#bytesMax, this.#keptBytes + bytes.length);
    if (this.#kept.length < neededBytes) {
      // Twice as much as before, so that chunks of a byte each are not copied again for each byte.
      const roomBytes = Math.min(this.#bytesMax, Math.max(neededBytes, 2 * this.#kept.length));
      const room = Buffer.allocUnsafe(roomBytes);
      this.#kept.copy(room, 0, 0, this.#keptBytes);
      this.#kept = room;
    }
    const copiedBytes = bytes.copy(this.#kept, this.#keptBytes, 0, neededBytes - this.#keptBytes);
    if (copiedBytes < bytes.length) this.#isCut = true;
    this.#keptBytes = neededBytes;
  }

  #take(last: Buffer): LogLine {
    const isInChunk = this.#keptBytes === 0 && last.length <= this.#bytesMax;
    if (!isInChunk) this.#keep(last);
    const whole = isInChunk ? last : this.#kept.subarray(0, this.#keptBytes);
    const hasReturn = !this.#isCut && whole.at(-1) === carriageReturn;
    const text = whole.toString("utf8", 0, hasReturn ? whole.length - 1 : whole.length);
    this.#number += 1;
    const line = { number: this.#number, text, isCut: this.#isCut };
    this.#keptBytes = 0;
    this.#isCut = false;
    return line;
  }
}
