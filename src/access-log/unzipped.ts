// The text of a file as UTF-8, chunk by chunk, also of one that was compressed with gzip or that
// PowerShell has written. Of a file that breaks off or is damaged, everything before that place: half
// of a log is worth reading.
import { createGunzip } from "node:zlib";

/** How such files begin. */
const gzipMagic = Buffer.from([0x1f, 0x8b]);
const utf16Mark = Buffer.from([0xff, 0xfe]);

/** Data with a high compression ratio must not fill the memory when it is decompressed. */
const pieceBytes = 16_384;

/** Logs and objects shrink to a twentieth, seldom to a hundredth; gzip can do a thousandth. */
const ratioMax = 200;

/** So much may come of any file: small files repeat themselves more. */
const freeBytes = 16_777_216;

/** Why the rest was not read. */
export interface ReadProblem {
  readonly text: string;
  /** Nothing is wrong with it; there is too much of it. */
  readonly isLimit: boolean;
}

/** Returns the remark about the rest, for after the file's name; undefined when all was read. */
export async function* unzipped(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, ReadProblem | undefined> {
  const source = chunks[Symbol.asyncIterator]();
  const rest = { [Symbol.asyncIterator]: () => source };
  try {
    const first = await source.next();
    if (first.done === true) return undefined;
    const beginning = first.value.subarray(0, gzipMagic.length);
    if (gzipMagic.equals(beginning)) return yield* unfolded(pieces(first.value, rest));
    const isWide = utf16Mark.equals(beginning);
    const decoder = new TextDecoder("utf-16le");
    const plain = (chunk: Uint8Array): Uint8Array =>
      isWide ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk;
    yield plain(first.value);
    for await (const chunk of rest) yield plain(chunk);
    return undefined;
  } finally {
    await source.return?.();
  }
}

async function* pieces(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* piecesOf(first);
  for await (const chunk of rest) yield* piecesOf(chunk);
}

function* piecesOf(chunk: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < chunk.length; start += pieceBytes) {
    yield chunk.subarray(start, start + pieceBytes);
  }
}

/** The decompressed form of one chunk, a thousand times its size at most, is held at once. */
async function* unfolded(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, ReadProblem | undefined> {
  const gunzip = createGunzip();
  let pending: Uint8Array[] = [];
  let bytesIn = 0;
  let bytesOut = 0;
  gunzip.on("data", (chunk: Uint8Array) => {
    pending.push(chunk);
    bytesOut += chunk.length;
  });
  // It is asked below what it failed with; without a listener that would be thrown.
  gunzip.on("error", () => undefined);
  // Closing ends a step as well: a failure in the middle of a write does not call back.
  let done = (): void => undefined;
  gunzip.on("close", () => done());
  const step = (act: () => void): Promise<void> =>
    new Promise((resolve) => {
      done = resolve;
      act();
    });
  try {
    for await (const chunk of chunks) {
      bytesIn += chunk.length;
      await step(() => gunzip.write(chunk, done));
      yield* pending;
      pending = [];
      if (gunzip.errored !== null) return brokenOff(gunzip.errored);
      if (bytesOut > freeBytes + ratioMax * bytesIn) return tooDense(bytesOut);
    }
    await step(() => gunzip.end());
    yield* pending;
    return gunzip.errored === null ? undefined : brokenOff(gunzip.errored);
  } finally {
    gunzip.destroy();
  }
}

function brokenOff({ message }: Error): ReadProblem {
  const text = `can be decompressed only so far (${message}): copy it again for the rest`;
  return { text, isLimit: false };
}

function tooDense(bytesOut: number): ReadProblem {
  const readMb = Math.round(bytesOut / 1_000_000);
  const text =
    `was read only up to ${readMb} MB: it decompresses to more than ${ratioMax} times its size; ` +
    "decompress it first to have all of it read";
  return { text, isLimit: true };
}
