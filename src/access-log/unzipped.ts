// What was compressed with gzip, chunk by chunk. Of a file that breaks off or is damaged, everything
// before that place: half of a log is worth reading.
import { createGunzip } from "node:zlib";

/** How such a file begins. */
export const gzipMagic = Buffer.from([0x1f, 0x8b]);

/**
 * Returns what is wrong with the rest; undefined when all of it was read. What one chunk unfolds to,
 * a thousand times its size at most, is held at once.
 */
export async function* unzipped(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, string | undefined> {
  const gunzip = createGunzip();
  let unfolded: Uint8Array[] = [];
  gunzip.on("data", (chunk: Uint8Array) => unfolded.push(chunk));
  // It is asked below what it failed with; without a listener that would be thrown.
  gunzip.on("error", () => undefined);
  // Closing ends a step as well: what fails in the middle of a write does not call back.
  let done = (): void => undefined;
  gunzip.on("close", () => done());
  const step = (act: () => void): Promise<void> =>
    new Promise((resolve) => {
      done = resolve;
      act();
    });
  try {
    for await (const chunk of chunks) {
      await step(() => gunzip.write(chunk, done));
      yield* unfolded;
      unfolded = [];
      if (gunzip.errored !== null) return gunzip.errored.message;
    }
    await step(() => gunzip.end());
    yield* unfolded;
    return gunzip.errored?.message;
  } finally {
    gunzip.destroy();
  }
}
