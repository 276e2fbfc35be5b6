// A text that is part of credentials: fixed, or the content of a file that another program replaces
// from time to time (a projected service-account token, a rotated certificate). Files are read
// again each minute, as client-go does.
import { assert } from "../../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Files, OpenFile } from "../../environment/files.ts";
import type { Log } from "../../environment/log.ts";
import { CredentialsError } from "./credentials.ts";

export interface TextSource {
  read(): Promise<string>;
  /** The next `read` looks again. */
  invalidate(): void;
}

/** A token is renewed minutes before it expires, so a minute is soon enough. */
const rereadMs = 60_000;

/** A file is read in parts of this size, because a pipe or a device has no size. */
const partBytes = 1_000_000;

/** Chains of certificates have some ten thousand bytes. */
const textBytesMax = 1_000_000;

/**
 * Undefined when there is no such file. Throws a `CredentialsError` when it has more bytes: a device
 * would never end.
 */
export async function readBounded(
  files: Files,
  path: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const file = await files.open(path);
  if (file === undefined) return undefined;
  try {
    return await readParts(file, path, bytesMax);
  } finally {
    await file.close();
  }
}

async function readParts(file: OpenFile, path: string, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let bytes = 0; bytes <= bytesMax; ) {
    const part = await file.read(bytes, partBytes);
    if (part.byteLength === 0) return Buffer.concat(parts);
    parts.push(part);
    bytes += part.byteLength;
  }
  const megabytes = bytesMax / 1_000_000;
  const message = `${path} has more than ${megabytes} MB; is it the right file?`;
  throw new CredentialsError("UNREADABLE", message);
}

export function fixedText(text: string): TextSource {
  return { read: () => Promise.resolve(text), invalidate: () => undefined };
}

export interface FileTextOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly path: string;
  /** The file's name in the error's message: `the token of user "ann"`. */
  readonly what: string;
}

/** Invariant: at most one read of the file is under way, and `#text` is the newest that succeeded. */
export class FileText implements TextSource {
  readonly #options: FileTextOptions;
  #text: string | undefined;
  #readAt: MonotonicMs | undefined;
  #reading: Promise<string> | undefined;

  constructor(options: FileTextOptions) {
    this.#options = options;
  }

  read(): Promise<string> {
    if (this.#text !== undefined && this.#isRecent()) return Promise.resolve(this.#text);
    this.#reading ??= this.#readFile().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  invalidate(): void {
    this.#readAt = undefined;
  }

  #isRecent(): boolean {
    if (this.#readAt === undefined) return false;
    return elapsedMs(this.#readAt, this.#options.clock.monotonicMs()) < rereadMs;
  }

  async #readFile(): Promise<string> {
    assert(this.#reading === undefined, "one read of a credentials file is under way at a time");
    const { files, clock, log, path, what } = this.#options;
    const readAt = clock.monotonicMs();
    try {
      const content = await readBounded(files, path, textBytesMax);
      if (content === undefined) {
        throw new CredentialsError("UNREADABLE", `no such file: ${path}`);
      }
      this.#text = content.toString("utf8").trim();
    } catch (error) {
      if (this.#text === undefined) throw unreadable(what, error);
      // The last content may still be valid, and the file may be in the middle of its rotation.
      log.warn("a credentials file cannot be read again; its last content stays in use", {
        path,
        error,
      });
    }
    this.#readAt = readAt;
    return this.#text;
  }
}

function unreadable(what: string, error: unknown): CredentialsError {
  const why = error instanceof Error ? error.message : String(error);
  return new CredentialsError("UNREADABLE", `${what}: ${why}`, { cause: error });
}
