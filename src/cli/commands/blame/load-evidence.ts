// Reads all that a verdict may rest on from the files that were named: recordings and saved objects.
import { resolve as absolute, basename } from "node:path";
import type { ReadProblem } from "../../../access-log/file-chunks.ts";
import { Evidence } from "../../../blame/evidence.ts";
import { addGoneBeforeRecording } from "../../../blame/listed-gone.ts";
import { RecordingReader } from "../../../blame/recording-reader.ts";
import type { Files } from "../../../environment/files.ts";
import {
  type ReadRecordingOptions,
  readRecording,
  recordingParts,
  recordingStartMs,
} from "../../../recording/recording-file.ts";
import { RecordingVersionError } from "../../../recording/recording-line.ts";
import { UsageError } from "../../command.ts";
import { counted } from "../../terminal/counted.ts";
import { numberText } from "../../terminal/value-text.ts";
import { loadObjects, sizeOf } from "./load-objects.ts";

export interface AskedEvidence {
  readonly recordings: readonly string[];
  /** How one is made: `lockstep record`, as it is typed here. */
  readonly recordCommand: string;
  /** Each a file or a folder, or `cluster=path`. */
  readonly objects: readonly string[];
  /** Only these count; all when there are none. */
  readonly clusters: readonly string[];
}

export interface LoadedEvidence {
  readonly evidence: Evidence;
  /** What was read, and what could not be, each in one sentence. */
  readonly notes: readonly string[];
  /** What was left out because there was too much of it, likewise. */
  readonly limits: readonly string[];
}

/** Rejects with the signal's reason when it aborts. */
export async function loadEvidence(
  files: Files,
  asked: AskedEvidence,
  signal: AbortSignal,
): Promise<LoadedEvidence> {
  const { clusters } = asked;
  const evidence = new Evidence(clusters.length === 0 ? {} : { clusters: new Set(clusters) });
  const notes: string[] = [];
  const limits: string[] = [];
  const onBrokenOff = ({ text, isLimit }: ReadProblem): void => {
    (isLimit ? limits : notes).push(`${text}.`);
  };
  for (const path of await inTime(files, asked.recordings, signal)) {
    const options = { recordCommand: asked.recordCommand, onBrokenOff, signal };
    notes.push(await loadRecording(files, path, evidence, options));
  }
  notes.push(...(await loadObjects(files, asked.objects, evidence, { onBrokenOff, signal })));
  addGoneBeforeRecording(evidence);
  const { lives, publications, malformed } = evidence;
  if (clusters.length > 0 && lives.size + publications.size === 0) {
    const named = clusters.join(", ");
    throw new UsageError(`the input files contain no data of --cluster ${named}`);
  }
  if (malformed > 0) {
    notes.push(`${counted(malformed, "object")} skipped: unknown format or too large.`);
  }
  if (evidence.dropped > 0) {
    limits.push(
      `${numberText(evidence.dropped)} of the oldest pods, changes of pods, endpoints, services, ` +
        "nodes and periods were left out to save memory; requests to them are unknown.",
    );
  }
  return { evidence, notes, limits };
}

/** What a later recording lacks has gone since the one before. */
async function inTime(
  files: Files,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const started: (readonly [path: string, startMs: number])[] = [];
  for (const path of paths) {
    const file = absolute(path);
    const [first = file] = await recordingParts(files, file);
    // A pipe has no size, and can be read only once.
    const isThere = ((await sizeOf(files, first)) ?? 0) > 0;
    started.push([path, isThere ? await recordingStartMs(files, file, { signal }) : Infinity]);
  }
  return started
    .sort(([, one], [, other]) => (one < other ? -1 : Number(one > other)))
    .map(([path]) => path);
}

async function loadRecording(
  files: Files,
  path: string,
  evidence: Evidence,
  { recordCommand, ...options }: ReadRecordingOptions & { readonly recordCommand: string },
): Promise<string> {
  const reader = new RecordingReader(evidence);
  const file = absolute(path);
  if ((await recordingParts(files, file)).length === 0) {
    const command = `${recordCommand} --out ${path}`;
    throw new UsageError(`recording ${path} does not exist; \`${command}\` creates one`);
  }
  try {
    await readRecording(files, file, reader, options);
  } catch (error) {
    if (!(error instanceof RecordingVersionError)) throw error;
    throw new UsageError(`cannot read ${path}: ${error.message}`, { cause: error });
  }
  const { lines, runs, unreadable } = reader.counts;
  if (runs === 0) {
    throw new UsageError(
      `${path} is no recording of lockstep record: it has no run in it; ` +
        "objects saved with kubectl are given with --objects",
    );
  }
  const torn = unreadable === 0 ? "" : `; ${unreadable} unreadable, such as half of a last line`;
  return `${basename(path)}: ${counted(runs, "run")}, ${counted(lines, "line")}${torn}.`;
}
