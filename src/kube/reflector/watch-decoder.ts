// A watch body is JSON values separated by newlines, cut into chunks anywhere. Bytes go in, events
// come out, one at a time, so that the reader can pause between any two. Splitting works on bytes:
// 0x0A never occurs inside a UTF-8 sequence, and the JSON encoder escapes newlines in strings.
import { isRecord, type RawRecord } from "../kinds/fields.ts";
import { parseWithoutManagedFields } from "./lean-json.ts";

export interface WatchEvent {
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`, or something a newer server invented. */
  readonly type: string;
  readonly object: unknown;
}

/**
 * etcd refuses objects above 1.5 MiB, and JSON at most doubles what protobuf takes of text. A longer
 * line is not a watch event, and keeping it could exhaust the memory.
 */
export const maxWatchLineBytes = 16 * 1024 * 1024;

const newline = 0x0a;

/** The bytes are not a watch stream. What was decoded before them was sound. */
export class WatchDecodeError extends Error {
  override readonly name = "WatchDecodeError";
  readonly code = "WATCH_DECODE";
}

/**
 * Invariant: `#head` holds the pieces of the one unfinished line that earlier chunks began, and no
 * newline; `#chunk` from `#position` on has not been looked at.
 */
export class WatchDecoder {
  readonly #maxLineBytes: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #chunk: Buffer = Buffer.alloc(0);
  #position = 0;

  constructor(options: { readonly maxLineBytes?: number } = {}) {
    this.#maxLineBytes = options.maxLineBytes ?? maxWatchLineBytes;
  }

  /** Takes the next chunk; `next` must have returned undefined since the last one. */
  push(chunk: Uint8Array): void {
    this.#chunk = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#position = 0;
  }

  /** The next whole event, or undefined when another chunk is needed. */
  next(): WatchEvent | undefined {
    for (;;) {
      const end = this.#chunk.indexOf(newline, this.#position);
      if (end === -1) {
        this.#keepRest();
        return undefined;
      }
      const start = this.#position;
      this.#position = end + 1;
      this.#checkLength(this.#headBytes + end - start);
      if (this.#headBytes > 0) {
        return parseEvent(this.#takeHead(start, end));
      }
      if (end > start) {
        return parseEvent(this.#chunk.subarray(start, end));
      }
    }
  }

  /** The unfinished line with its end in the current chunk, in one piece. */
  #takeHead(start: number, end: number): Buffer {
    const line = Buffer.concat([...this.#head, this.#chunk.subarray(start, end)]);
    this.#head = [];
    this.#headBytes = 0;
    return line;
  }

  #keepRest(): void {
    if (this.#position < this.#chunk.length) {
      const rest = this.#chunk.subarray(this.#position);
      this.#checkLength(this.#headBytes + rest.length);
      this.#head.push(rest);
      this.#headBytes += rest.length;
      this.#position = this.#chunk.length;
    }
  }

  #checkLength(bytes: number): void {
    if (bytes > this.#maxLineBytes) {
      throw new WatchDecodeError(`a watch event is longer than ${this.#maxLineBytes} bytes`);
    }
  }
}

function parseEvent(line: Buffer): WatchEvent {
  let event: unknown;
  try {
    event = parseWithoutManagedFields(line);
  } catch (error) {
    throw new WatchDecodeError("a line of the watch is not JSON", { cause: error });
  }
  if (isRecord(event) && isEvent(event)) {
    return event;
  }
  throw new WatchDecodeError("a line of the watch is JSON but not a watch event");
}

function isEvent(record: RawRecord): record is RawRecord & WatchEvent {
  return typeof record["type"] === "string" && record["object"] !== undefined;
}
