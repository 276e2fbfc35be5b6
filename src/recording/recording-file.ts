// Reads a recording from its file, in bounded memory whatever its length: the file before it first,
// where it was rotated. Lines are longer than those of a log, because an object with a thousand
// addresses is one line.
import { fileChunks, type ReadProblem } from "../access-log/file-chunks.ts";
import { allUnlessAborted } from "../access-log/until-aborted.ts";
import type { Files } from "../environment/files.ts";
import { LineSplitter } from "../environment/line-splitter.ts";
import { parseRecordingLine, type RecordingLine } from "./recording-line.ts";

/** An Endpoints object holds at most 1,000 addresses, some 200 bytes each; and slices 1,000 too. */
const lineBytesMax = 4 * 1024 * 1024;

/** A header has some 130 bytes. */
const headerBytesMax = 4_096;

/** Takes the lines of a recording, one after the other. */
export interface LineReader {
  read(text: string): void;
}

export interface ReadRecordingOptions {
  /** Called for a compressed recording that ends early. */
  readonly onBrokenOff?: (problem: ReadProblem) => void;
  /** Rejects with its reason when it aborts. */
  readonly signal?: AbortSignal;
}

export async function readRecording(
  files: Files,
  path: string,
  reader: LineReader,
  options: ReadRecordingOptions = {},
): Promise<void> {
  for await (const lines of recordingTexts(files, path, options)) {
    for (const text of lines) reader.read(text);
  }
}

/** The lines of a recording as texts, some at a time, so that the reader can wait between. */
export async function* recordingTexts(
  files: Files,
  path: string,
  options: ReadRecordingOptions = {},
): AsyncGenerator<readonly string[], void, undefined> {
  for (const part of await recordingParts(files, path)) {
    // A longer line than any of ours is cut: it cannot be read, and is counted as such.
    const splitter = new LineSplitter({ bytesMax: lineBytesMax });
    for await (const chunk of chunksOf(files, part, options)) {
      yield [...splitter.push(chunk)].map(({ text }) => text);
    }
    yield [...splitter.end()].map(({ text }) => text);
  }
}

/**
 * The files of a recording that are there, in the order of their time. One that ended while its next
 * file was to begin has only the one before.
 */
export async function recordingParts(files: Files, path: string): Promise<readonly string[]> {
  const parts: string[] = [];
  for (const part of [`${path}.1`, path]) {
    if ((await files.kind(part)) !== undefined) parts.push(part);
  }
  return parts;
}

/** When it begins; infinitely late when that cannot be read. Later ones are to be read later. */
export async function recordingStartMs(
  files: Files,
  path: string,
  options: Pick<ReadRecordingOptions, "signal"> = {},
): Promise<number> {
  const [first = path] = await recordingParts(files, path);
  const line = await firstLine(files, first, options);
  return line === undefined || line.type === "input" ? Infinity : line.atMs;
}

/** Whether the file begins as a recording does, compressed or not. */
export async function isRecording(files: Files, path: string): Promise<boolean> {
  return (await firstLine(files, path))?.type === "run";
}

async function firstLine(
  files: Files,
  path: string,
  options: Pick<ReadRecordingOptions, "signal"> = {},
): Promise<RecordingLine | undefined> {
  for await (const chunk of chunksOf(files, path, options)) {
    const beginning = Buffer.from(chunk.subarray(0, headerBytesMax)).toString("utf8");
    const [line = ""] = beginning.split("\n", 1);
    return parseRecordingLine(line);
  }
  return undefined;
}

/** Whether the file begins as a recording does; one that is absent or empty can become one. */
export async function mayRecordTo(files: Files, path: string): Promise<boolean> {
  // A pipe has no size, and is not to be read from.
  const file = ((await files.size(path)) ?? 0) === 0 ? undefined : await files.open(path);
  if (file === undefined) return true;
  try {
    const beginning = Buffer.from(await file.read(0, headerBytesMax)).toString("utf8");
    const [first = ""] = beginning.split("\n", 1);
    return parseRecordingLine(first)?.type === "run";
  } finally {
    await file.close();
  }
}

function chunksOf(
  files: Files,
  path: string,
  { signal, onBrokenOff = () => undefined }: ReadRecordingOptions,
): AsyncIterable<Uint8Array> {
  const chunks = fileChunks(files, path, onBrokenOff);
  return signal === undefined ? chunks : allUnlessAborted(chunks, signal);
}
