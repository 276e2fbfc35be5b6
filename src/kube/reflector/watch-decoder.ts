// A watch body is JSON values separated by newlines, cut into chunks anywhere. Bytes go in, events
// come out, one at a time, so that the reader can pause between any two. The JSON encoder escapes
// newlines in strings.
import { type Line, LineSplitter } from "../../environment/line-splitter.ts";
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

/** The bytes are not a watch stream. Everything decoded before them is valid. */
export class WatchDecodeError extends Error {
  override readonly name = "WatchDecodeError";
  readonly code = "WATCH_DECODE";
}

export class WatchDecoder {
  readonly #maxLineBytes: number;
  readonly #splitter: LineSplitter;
  /** The lines of the last chunk that have not been given yet. */
  #lines: Iterator<Line, void> | undefined;

  constructor(options: { readonly maxLineBytes?: number } = {}) {
    this.#maxLineBytes = options.maxLineBytes ?? maxWatchLineBytes;
    this.#splitter = new LineSplitter({ bytesMax: this.#maxLineBytes });
  }

  /** Takes the next chunk; `next` must have returned undefined since the last one. */
  push(chunk: Uint8Array): void {
    this.#lines = this.#splitter.push(chunk);
  }

  /** The next whole event, or undefined when another chunk is needed. */
  next(): WatchEvent | undefined {
    const line = this.#lines?.next().value ?? undefined;
    if (line === undefined ? this.#splitter.isCut : line.isCut) {
      throw new WatchDecodeError(`a watch event is longer than ${this.#maxLineBytes} bytes`);
    }
    return line && parseEvent(line.bytes);
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
