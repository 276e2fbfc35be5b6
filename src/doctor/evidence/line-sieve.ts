// Bytes into the lines that a reader has to see. A line of a log without any known word says nothing,
// and most lines are such lines: they are counted and passed over, and no string is made of them. Only
// if the next line is no start of a line, the one before it may be its first part, and is read first.
import { LineSplitter } from "../../environment/line-splitter.ts";
import { isPlainStart } from "./line-start.ts";
import { headLines, knownWords, type TextReader } from "./text-reader.ts";

/** Lines are cut here: the values that signs need stand before it. */
const lineBytesMax = 65_536;

/** An object is at most 1.5 MB in etcd, and an audit event has it twice. */
const jsonBytesMax = 4_194_304;

const newline = 0x0a;
const dash = 0x2d;
const [quote, space, brace, zero, four, five, nine] = [
  0x22, 0x20, 0x7b, 0x30, 0x34, 0x35, 0x39,
] as const;

export class LineSieve {
  readonly #reader: TextReader;
  /** The first lines, none of which is passed over. */
  readonly #readInFull: number;
  /** Holds the part of a line that ended no chunk yet. */
  readonly #rest = new LineSplitter({ bytesMax: jsonBytesMax });
  #hasRest = false;
  /** The last line, if it was passed over. */
  #passed: { readonly bytes: Buffer; from: number; to: number } | undefined;
  lines = 0;

  constructor(reader: TextReader, readInFull = headLines) {
    this.#reader = reader;
    this.#readInFull = readInFull;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const passed = { bytes, from: 0, to: 0 };
    let from = this.#hasRest ? this.#endRest(bytes) : 0;
    for (let to = bytes.indexOf(newline, from); to >= 0; to = bytes.indexOf(newline, from)) {
      this.lines += 1;
      const maySkip = this.lines > this.#readInFull && !this.#reader.isInObject;
      if (maySkip && isSilent(bytes, from, to)) {
        passed.from = from;
        passed.to = to;
        this.#passed = passed;
      } else this.#read(bytes, from, to);
      from = to + 1;
    }
    this.#keepPassed();
    if (from === bytes.length) return;
    this.#hasRest = true;
    for (const _ of this.#rest.push(bytes.subarray(from)))
      throw new Error("a rest has no line end");
  }

  /** The stream is over: the rest is the last line. */
  end(): void {
    for (const { bytes } of this.#rest.end()) this.#readOne(bytes);
  }

  /** Returns where the next line begins. */
  #endRest(bytes: Buffer): number {
    const to = bytes.indexOf(newline);
    const end = to < 0 ? bytes.length : to + 1;
    for (const line of this.#rest.push(bytes.subarray(0, end))) this.#readOne(line.bytes);
    if (to >= 0) this.#hasRest = false;
    return end;
  }

  #readOne(bytes: Buffer): void {
    this.lines += 1;
    this.#read(bytes, 0, bytes.length);
  }

  #read(bytes: Buffer, from: number, to: number): void {
    const passed = this.#passed;
    this.#passed = undefined;
    if (passed !== undefined && !isPlainStart(bytes, from, to)) {
      this.#reader.push(textOf(passed.bytes, passed.from, passed.to), this.lines - 1);
    }
    // An empty line ends a table.
    this.#reader.push(textOf(bytes, from, to), this.lines);
  }

  /** The sender may use its chunk again. */
  #keepPassed(): void {
    const passed = this.#passed;
    if (passed === undefined) return;
    const bytes = Buffer.from(passed.bytes.subarray(passed.from, passed.to));
    this.#passed = { bytes, from: 0, to: bytes.length };
  }
}

function isSilent(bytes: Buffer, from: number, to: number): boolean {
  if (!isPlainStart(bytes, from, to) || knownWords.isIn(bytes, from, to)) return false;
  return !isDigit(bytes[from]) || !hasErrorStatus(bytes, from, to);
}

/**
 * `" 502 `: an access log whose lines begin with an address has it behind the request. Further numbers behind a quote
 * are lengths and times.
 */
function hasErrorStatus(bytes: Buffer, from: number, to: number): boolean {
  // A line that begins with a date is of another log.
  if (bytes[from + 4] === dash) return false;
  for (let at = bytes.indexOf(quote, from); at >= 0 && at < to; at = bytes.indexOf(quote, at + 1)) {
    if (bytes[at + 1] !== space || bytes[at + 5] !== space) continue;
    const status = bytes[at + 2];
    if (!isDigit(status) || !isDigit(bytes[at + 3]) || !isDigit(bytes[at + 4])) continue;
    return status === four || status === five;
  }
  return false;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}

/** Lines of JSON may be longer: an audit log has whole objects in them. */
function textOf(bytes: Buffer, from: number, to: number): string {
  const bytesMax = bytes[from] === brace ? jsonBytesMax : lineBytesMax;
  return bytes.toString("utf8", from, Math.min(to, from + bytesMax));
}
