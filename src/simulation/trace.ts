// The fingerprint of a run: a SHA-256 over everything that happened, in order. Two runs with the
// same seed and the same code have the same hash; if they do not, something reached around the
// environment, and two recorded traces show where they part. Entries are gathered in one buffer,
// because hashing many small pieces costs far more than hashing their sum.

import { createHash } from "node:crypto";
import { assert } from "../environment/assert.ts";

/** The subject of an entry; the byte is part of the hash. */
export type TraceKind = "event" | "draw" | "message" | "fault" | "log";

export interface RecordedTrace {
  /** Position in the whole trace of the first line kept. */
  readonly firstIndex: number;
  readonly lines: readonly string[];
}

export interface TraceDifference {
  readonly index: number;
  readonly left: string | undefined;
  readonly right: string | undefined;
  /** The lines both have just before, oldest first. */
  readonly before: readonly string[];
}

const kindBytes: Readonly<Record<TraceKind, number>> = {
  event: 1,
  draw: 2,
  message: 3,
  fault: 4,
  log: 5,
};

/** Large enough to make a hash update rare, small enough to stay in the processor's cache. */
const bufferBytes = 64 * 1024;

/** Kind, time, two numbers and the lengths of the text and of the bytes. */
const entryHeaderBytes = 1 + 8 + 8 + 8 + 4 + 4;

/** UTF-8 takes at most this many bytes for one code unit of a string. */
const maxBytesPerCodeUnit = 3;

const contextLines = 5;

export class Trace {
  readonly #hash = createHash("sha256");
  readonly #buffer = Buffer.alloc(bufferBytes);
  readonly #recordLast: number;
  /** Invariant: at most twice #recordLast lines; the oldest half is cut when it is full. */
  readonly #lines: string[] = [];
  #used = 0;
  #entries = 0;

  constructor(options: { recordLast?: number } = {}) {
    this.#recordLast = options.recordLast ?? 0;
  }

  /** Entries so far. */
  get length(): number {
    return this.#entries;
  }

  /** Two numbers of the caller's choice, then text and bytes where there are any. */
  add(
    kind: TraceKind,
    atMs: number,
    first: number,
    second: number,
    text = "",
    bytes?: Uint8Array,
  ): void {
    this.#entries += 1;
    if (this.#recordLast > 0) this.#record(kind, atMs, first, second, text, bytes);
    const textRoom = text.length * maxBytesPerCodeUnit;
    if (entryHeaderBytes + textRoom > bufferBytes - this.#used) this.#flush();
    if (entryHeaderBytes + textRoom > bufferBytes) {
      this.add(kind, atMs, first, second, "", Buffer.from(text, "utf8"));
      this.#entries -= 1;
    } else {
      this.#write(kind, atMs, first, second, text, bytes?.length ?? 0);
    }
    if (bytes !== undefined) this.#writeBytes(bytes);
  }

  /** The hash of everything so far, in hexadecimal. */
  hash(): string {
    this.#flush();
    return this.#hash.copy().digest("hex");
  }

  recorded(): RecordedTrace {
    const lines = this.#lines.slice(-this.#recordLast);
    return { firstIndex: this.#entries - lines.length, lines };
  }

  #write(
    kind: TraceKind,
    atMs: number,
    first: number,
    second: number,
    text: string,
    byteLength: number,
  ): void {
    const buffer = this.#buffer;
    const start = this.#used;
    buffer[start] = kindBytes[kind];
    buffer.writeDoubleLE(atMs, start + 1);
    buffer.writeDoubleLE(first, start + 9);
    buffer.writeDoubleLE(second, start + 17);
    const textBytes = text === "" ? 0 : buffer.write(text, start + entryHeaderBytes, "utf8");
    buffer.writeUInt32LE(textBytes, start + 25);
    buffer.writeUInt32LE(byteLength, start + 29);
    this.#used = start + entryHeaderBytes + textBytes;
  }

  #writeBytes(bytes: Uint8Array): void {
    if (bytes.length > bufferBytes - this.#used) this.#flush();
    if (bytes.length > bufferBytes) {
      this.#hash.update(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  #flush(): void {
    if (this.#used === 0) return;
    this.#hash.update(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }

  #record(
    kind: TraceKind,
    atMs: number,
    first: number,
    second: number,
    text: string,
    bytes: Uint8Array | undefined,
  ): void {
    const body = bytes === undefined ? "" : ` ${Buffer.from(bytes).toString("latin1")}`;
    this.#lines.push(`${atMs} ${kind} ${first} ${second} ${text}${body}`.trimEnd());
    if (this.#lines.length >= 2 * this.#recordLast) {
      this.#lines.splice(0, this.#lines.length - this.#recordLast);
    }
    assert(this.#lines.length <= 2 * this.#recordLast, "recorded lines are bounded");
  }
}

/** Where two recorded traces part first; undefined when what both recorded is the same. */
export function firstDifference(
  left: RecordedTrace,
  right: RecordedTrace,
): TraceDifference | undefined {
  const start = Math.max(left.firstIndex, right.firstIndex);
  const end = Math.max(left.firstIndex + left.lines.length, right.firstIndex + right.lines.length);
  for (let index = start; index < end; index++) {
    const leftLine = left.lines[index - left.firstIndex];
    const rightLine = right.lines[index - right.firstIndex];
    if (leftLine === rightLine) continue;
    const from = Math.max(start, index - contextLines);
    return {
      index,
      left: leftLine,
      right: rightLine,
      before: left.lines.slice(from - left.firstIndex, index - left.firstIndex),
    };
  }
  return undefined;
}
