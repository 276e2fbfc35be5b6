// Bytes into lines, of whatever length the chunks are. A newline byte never occurs inside a character
// of UTF-8, so bytes can be split before they are read. A line that is longer than its reader allows
// is cut off and marked as cut, so that rubbish cannot fill the memory. Blank lines are counted and
// skipped at the cost of a byte each.
import { NetworkError } from "./network.ts";

export class Line {
  /** Counts from 1, blank lines too. */
  readonly number: number;
  /** Without its end. A part of the chunk where it can be: to be read before the next chunk. */
  readonly bytes: Buffer;
  /** The line went on beyond what is kept. */
  readonly isCut: boolean;

  constructor(number: number, bytes: Buffer, isCut: boolean) {
    this.number = number;
    this.bytes = bytes;
    this.isCut = isCut;
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const nothing = Buffer.alloc(0);

export class LineSplitter {
  readonly #bytesMax: number;
  /** A copy of what has come of a line without its end: the sender may use its chunks again. */
  #kept = nothing;
  #keptBytes = 0;
  #isCut = false;
  #number = 0;

  constructor(options: { readonly bytesMax: number }) {
    this.#bytesMax = options.bytesMax;
  }

  /** Whether the line whose end has not come yet is already too long. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** The lines that end in this chunk and are not blank. */
  *push(chunk: Uint8Array): Generator<Line, void, undefined> {
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
      if (line.bytes.length > 0) yield line;
      start = end + 1;
    }
  }

  /** The stream is over: the rest is the last line. */
  *end(): Generator<Line, void, undefined> {
    if (this.#keptBytes === 0) return;
    const line = this.#take(nothing);
    if (line.bytes.length > 0) yield line;
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

  #take(last: Buffer): Line {
    const isInChunk = this.#keptBytes === 0 && last.length <= this.#bytesMax;
    if (!isInChunk) this.#keep(last);
    const whole = isInChunk ? last : this.#kept.subarray(0, this.#keptBytes);
    const hasReturn = !this.#isCut && whole.at(-1) === carriageReturn;
    this.#number += 1;
    const line = new Line(this.#number, hasReturn ? whole.subarray(0, -1) : whole, this.#isCut);
    // Given away with the line: a long one would be held for as long as the stream is open.
    this.#kept = nothing;
    this.#keptBytes = 0;
    this.#isCut = false;
    return line;
  }
}

/** The lines of a stream whose lines have to be whole: half a message says nothing. */
export async function* wholeLines(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Line, void, undefined> {
  const splitter = new LineSplitter({ bytesMax });
  for await (const chunk of chunks) {
    for (const line of splitter.push(chunk)) {
      if (line.isCut) throw tooLong(bytesMax);
      yield line;
    }
    if (splitter.isCut) throw tooLong(bytesMax);
  }
}

function tooLong(bytesMax: number): NetworkError {
  return new NetworkError("FAILED", `a line is longer than ${bytesMax} bytes`);
}
