// A log file as chunks of bytes, in bounded memory whatever its size: once from start to end, or for
// as long as it grows. Following goes on through rotation: a file that was renamed is read to its end
// before the new one of its name, a file that was emptied from its start.
import type { Environment } from "../environment/environment.ts";
import type { OpenFile } from "../environment/files.ts";
import { type ReadProblem, unzipped } from "./unzipped.ts";

export type { ReadProblem };

/** Large enough that the work is in the lines, small enough to hold dozens of. */
const chunkBytes = 262_144;

/** A line is shown about this late; looking costs two system calls. */
const lookEveryMs = 250;

const endOfLine = Buffer.from("\n");

export class AccessLogFileError extends Error {
  override readonly name = "AccessLogFileError";
  readonly code = "ACCESS_LOG_FILE";
}

/**
 * The whole file; one that was compressed with gzip is read as what was compressed. Where that breaks
 * off, as in a copy that was not finished, what came before it counts.
 */
export async function* fileChunks(
  files: Environment["files"],
  path: string,
  onBrokenOff: (problem: ReadProblem) => void,
): AsyncGenerator<Uint8Array> {
  const file = await existing(files, path);
  try {
    yield* plainChunks(rest(file, { offset: 0 }), path, onBrokenOff);
  } finally {
    await file.close();
  }
}

/** The same of what is piped in. */
export async function* plainChunks(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  onBrokenOff: (problem: ReadProblem) => void,
): AsyncGenerator<Uint8Array> {
  const problem = yield* unzipped(chunks);
  if (problem !== undefined) onBrokenOff({ ...problem, text: `${name} ${problem.text}` });
}

export interface FollowFileOptions extends Pick<Environment, "files" | "timers"> {
  readonly path: string;
  /** Whether to read the present content of the file, or only later lines. */
  readonly from: "start" | "end";
  /** Aborting it ends the chunks. */
  readonly signal: AbortSignal;
}

export async function* followFile(options: FollowFileOptions): AsyncGenerator<Uint8Array> {
  const { files, path, from } = options;
  let file = await existing(files, path);
  const place = { offset: from === "end" && !file.isStream ? await file.size() : 0 };
  // A reader of a pipe waits until the pipe has bytes or is closed.
  const endStream = (): void => void (file.isStream && file.close());
  options.signal.addEventListener("abort", endStream, { once: true });
  try {
    for (;;) {
      yield* rest(file, place);
      if (file.isStream || !(await pause(options))) return;
      const newer = await another(files, path, file);
      if (newer !== undefined) {
        // A proxy writes to the old file until it is asked to open the new one.
        await pause(options);
        yield* rest(file, place);
        await file.close();
        file = newer;
      }
      if (newer === undefined && (await file.size()) >= place.offset) continue;
      place.offset = 0;
      // A line that was never finished has nothing to do with what comes now.
      yield endOfLine;
    }
  } finally {
    options.signal.removeEventListener("abort", endStream);
    await file.close();
  }
}

async function existing(files: Environment["files"], path: string): Promise<OpenFile> {
  const file = await files.open(path);
  if (file !== undefined) return file;
  throw new AccessLogFileError(
    `file ${path} does not exist: give the access log of the proxy, or - for standard input`,
  );
}

/** The file that has the name now, if it is not the one that is open; it may be absent for a while. */
async function another(
  files: Environment["files"],
  path: string,
  current: OpenFile,
): Promise<OpenFile | undefined> {
  const file = await files.open(path);
  if (file === undefined) return undefined;
  if (file.id !== current.id) return file;
  await file.close();
  return undefined;
}

/** From the place to the end as it is now; the place moves on. */
async function* rest(file: OpenFile, place: { offset: number }): AsyncGenerator<Uint8Array> {
  for (;;) {
    const chunk = await file.read(place.offset, chunkBytes);
    if (chunk.byteLength === 0) return;
    place.offset += chunk.byteLength;
    yield chunk;
  }
}

/** False when it is time to end. */
async function pause({ timers, signal }: FollowFileOptions): Promise<boolean> {
  if (signal.aborted) return false;
  try {
    await timers.sleep(lookEveryMs, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
