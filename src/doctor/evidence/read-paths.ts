// Reads files and folders as evidence, whatever is in them: each line of each text is shown to the
// reader. Files of any size are read in parts; compressed ones are read as their content. A file that
// is no text is passed over and counted.
import { plainChunks } from "../../access-log/file-chunks.ts";
import type { Environment } from "../../environment/environment.ts";
import { LineSplitter } from "../../environment/line-splitter.ts";
import { isRecording, recordingParts } from "../../recording/recording-file.ts";
import { RecordingVersionError } from "../../recording/recording-line.ts";
import { replayJourneys } from "../../recording/replayed-journeys.ts";
import type { RunHeader } from "../../recording/replayed-run.ts";
import type { Facts } from "./evidence.ts";
import { LineSieve } from "./line-sieve.ts";
import { MetricsPageReader, savedMetrics } from "./metrics-facts.ts";
import { ChangeCollector } from "./seen-changes.ts";
import { TextReader } from "./text-reader.ts";

/** A dump of a large cluster has some thousand files. */
const filesMax = 50_000;
const depthMax = 12;

const chunkBytes = 262_144;

/** Lines of metrics are cut here. */
const lineBytesMax = 65_536;

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
  readonly facts: Facts;
  readonly log: Pick<Environment["log"], "info">;
  readonly signal: AbortSignal;
  /** The files are metrics pages, whatever their first line is. */
  readonly areMetrics?: boolean;
  readonly onProgress?: (summary: ReadSummary, path: string) => void;
}

type SavedPage = NonNullable<ReturnType<typeof savedMetrics>>;

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
  if (await isRecording(options.files, path)) return readChanges(options, path, summary);
  const file = await options.files.open(path);
  if (file === undefined) return;
  try {
    await readStream(options, parts(file), { name: path, summary });
  } finally {
    await file.close();
  }
}

/** A recording; an earlier part of it is read with the file that continues it. */
async function readChanges(
  { files, facts, log, signal, onProgress }: ReadOptions,
  path: string,
  summary: ReadSummary,
): Promise<void> {
  summary.files += 1;
  summary.bytes += (await files.size(path)) ?? 0;
  onProgress?.(summary, path);
  const whole = path.endsWith(".1") ? path.slice(0, -2) : path;
  if (whole !== path && (await recordingParts(files, whole)).includes(whole)) return;
  const onRun = ({ atMs: beganAtMs }: RunHeader) => {
    const collector = new ChangeCollector();
    const ended = (nowMs: number): void => {
      facts.changes.add({ source: path, journeys: collector.journeys, nowMs, beganAtMs });
    };
    return { onEvent: collector.onEvent, ended };
  };
  try {
    const unreadable = await replayJourneys({ files, path: whole, log, signal, onRun });
    if (unreadable > 0) summary.limits.push(`${path}: ${unreadable} lines could not be read.`);
  } catch (error) {
    if (!(error instanceof RecordingVersionError)) throw error;
    summary.limits.push(`${path} was not read: ${error.message}.`);
  }
}

/** Standard input, or one open file. */
export async function readStream(
  options: ReadOptions,
  chunks: AsyncIterable<Uint8Array>,
  { name, summary }: { readonly name: string; readonly summary: ReadSummary },
): Promise<void> {
  const onBrokenOff = ({ text }: { readonly text: string }): void => {
    summary.limits.push(`${text}.`);
  };
  summary.files += 1;
  const linesBefore = summary.lines;
  let lines: LineTaker | undefined;
  for await (const chunk of plainChunks(chunks, name, onBrokenOff)) {
    options.signal.throwIfAborted();
    if (lines === undefined && chunk.includes(0)) {
      summary.binary.push(name);
      return;
    }
    lines ??= takerOf(options, name, chunk);
    summary.bytes += chunk.byteLength;
    lines.push(chunk);
    summary.lines = linesBefore + lines.lines;
    options.onProgress?.(summary, name);
  }
  lines?.end();
  summary.lines = linesBefore + (lines?.lines ?? 0);
}

interface LineTaker {
  readonly lines: number;
  push(chunk: Uint8Array): void;
  end(): void;
}

/** A line of a metrics page is never longer. */
const firstLineMax = 1_024;

/** By its first line a file is a metrics page, or any text. */
function takerOf({ facts, areMetrics }: ReadOptions, name: string, first: Uint8Array): LineTaker {
  const [firstLine = ""] = Buffer.from(first.subarray(0, firstLineMax))
    .toString("utf8")
    .split("\n");
  const saved = savedMetrics(name, firstLine.trimEnd());
  const about = saved ?? (areMetrics === true ? { source: name, atMs: Number.NaN } : undefined);
  return about === undefined ? textTaker(facts, name) : metricsTaker(facts, about);
}

function textTaker(facts: Facts, name: string): LineTaker {
  const reader = new TextReader(facts, name);
  const sieve = new LineSieve(reader);
  return {
    get lines() {
      return sieve.lines;
    },
    push: (chunk) => sieve.push(chunk),
    end() {
      sieve.end();
      reader.end();
    },
  };
}

function metricsTaker(facts: Facts, about: SavedPage): LineTaker {
  const page = new MetricsPageReader(about);
  const splitter = new LineSplitter({ bytesMax: lineBytesMax });
  let lines = 0;
  const texts = (found: Iterable<{ readonly text: string }>): readonly string[] => {
    const all = Array.from(found, ({ text }) => text);
    lines += all.length;
    return all;
  };
  return {
    get lines() {
      return lines;
    },
    push: (chunk) => page.push(texts(splitter.push(chunk))),
    end() {
      page.push(texts(splitter.end()));
      page.end(facts.metrics);
    },
  };
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
