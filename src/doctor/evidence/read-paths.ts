// Reads files and folders as evidence, whatever is in them: each line of each text is shown to the
// reader. Files of any size are read in parts; compressed ones are read as their content. A file that
// is no text is passed over and counted.
import { plainChunks } from "../../access-log/file-chunks.ts";
import type { Environment } from "../../environment/environment.ts";
import { LineSieve } from "./line-sieve.ts";
import { type TextFacts, TextReader } from "./text-reader.ts";

/** A dump of a large cluster has some thousand files. */
const filesMax = 50_000;
const depthMax = 12;

const chunkBytes = 262_144;

export interface ReadSummary {
  files: number;
  bytes: number;
  lines: number;
  /** Paths of files that are no text. */
  readonly binary: string[];
  /** Limits that were reached, as sentences. */
  readonly limits: string[];
}

export interface ReadOptions {
  readonly files: Environment["files"];
  readonly facts: TextFacts;
  readonly signal: AbortSignal;
  readonly onProgress?: (summary: ReadSummary, path: string) => void;
}

export function emptySummary(): ReadSummary {
  return { files: 0, bytes: 0, lines: 0, binary: [], limits: [] };
}

/** A file or a folder, absolute; throws `NoSuchPathError` when there is none. */
export async function readPath(
  options: ReadOptions,
  path: string,
  summary: ReadSummary,
): Promise<void> {
  await readBelow(options, path, summary, 0);
}

export class NoSuchPathError extends Error {
  override readonly name = "NoSuchPathError";
  readonly code = "NO_SUCH_PATH";
}

async function readBelow(
  options: ReadOptions,
  path: string,
  summary: ReadSummary,
  depth: number,
): Promise<void> {
  options.signal.throwIfAborted();
  const { files } = options;
  const kind = await files.kind(path);
  if (kind === undefined) throw new NoSuchPathError(`${path} does not exist`);
  if (kind !== "folder") return readFile(options, path, summary);
  if (depth >= depthMax) {
    summary.limits.push(`${path} was not read: it is more than ${depthMax} folders deep.`);
    return;
  }
  for (const name of await files.list(path)) {
    if (summary.files >= filesMax) {
      summary.limits.push(`Only the first ${filesMax} files were read.`);
      return;
    }
    await readBelow(options, `${path}/${name}`, summary, depth + 1);
  }
}

async function readFile(options: ReadOptions, path: string, summary: ReadSummary): Promise<void> {
  const file = await options.files.open(path);
  if (file === undefined) return;
  try {
    await readStream(options, parts(file), { name: path, summary });
  } finally {
    await file.close();
  }
}

/** What is piped in, or one open file. */
export async function readStream(
  options: ReadOptions,
  chunks: AsyncIterable<Uint8Array>,
  { name, summary }: { readonly name: string; readonly summary: ReadSummary },
): Promise<void> {
  const reader = new TextReader(options.facts, name);
  const sieve = new LineSieve(reader);
  const linesBefore = summary.lines;
  const onBrokenOff = ({ text }: { readonly text: string }): void => {
    summary.limits.push(`${text}.`);
  };
  summary.files += 1;
  let isFirst = true;
  for await (const chunk of plainChunks(chunks, name, onBrokenOff)) {
    options.signal.throwIfAborted();
    if (isFirst && chunk.includes(0)) {
      summary.binary.push(name);
      return;
    }
    isFirst = false;
    summary.bytes += chunk.byteLength;
    sieve.push(chunk);
    summary.lines = linesBefore + sieve.lines;
    options.onProgress?.(summary, name);
  }
  sieve.end();
  summary.lines = linesBefore + sieve.lines;
  reader.end();
}

async function* parts(file: {
  read(offset: number, maxBytes: number): Promise<Uint8Array>;
}): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; ) {
    const chunk = await file.read(offset, chunkBytes);
    if (chunk.byteLength === 0) return;
    offset += chunk.byteLength;
    yield chunk;
  }
}
