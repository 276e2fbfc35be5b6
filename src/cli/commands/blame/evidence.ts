// Loads the input of the verdicts: recordings, and objects saved with kubectl. Objects of one
// cluster are combined from all files; an object that a later save lacks was deleted in between.
import { resolve as absolute, basename } from "node:path";
import { fileChunks, type ReadProblem } from "../../../access-log/file-chunks.ts";
import { allUnlessAborted } from "../../../access-log/until-aborted.ts";
import { Evidence } from "../../../blame/evidence.ts";
import { addGoneBeforeRecording } from "../../../blame/listed-gone.ts";
import { RecordingReader } from "../../../blame/recording-reader.ts";
import { SavedObjects } from "../../../blame/saved-objects.ts";
import { counted } from "../../../environment/counted.ts";
import { type Files, FilesError } from "../../../environment/files.ts";
import {
  type ReadRecordingOptions,
  readRecording,
  recordingParts,
  recordingStartMs,
} from "../../../recording/recording-file.ts";
import { RecordingVersionError } from "../../../recording/recording-line.ts";
import { UsageError } from "../../command.ts";

interface AskedEvidence {
  readonly recordings: readonly string[];
  /** The command that makes a recording. */
  readonly recordCommand: string;
  /** Each is a file, a folder or `cluster=path`. */
  readonly objects: readonly string[];
  /** Only these clusters; empty: all. */
  readonly clusters: readonly string[];
}

export interface LoadedEvidence {
  readonly evidence: Evidence;
  /** One sentence for each thing that was read or could not be read. */
  readonly notes: readonly string[];
  /** One sentence for each limit that was reached. */
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
      `${counted(evidence.dropped, "record")} of pods, endpoints, services, nodes or times left out ` +
        "to save memory, the oldest first. The cause of requests to them is unknown.",
    );
  }
  return { evidence, notes, limits };
}

/** An object that a later recording lacks was deleted before it. */
async function inTime(
  files: Files,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const started: (readonly [path: string, startMs: number])[] = [];
  for (const path of paths) {
    const file = absolute(path);
    const [first = file] = await recordingParts(files, file);
    // A pipe has no size and can be read only once.
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

/** A dump has one file for each namespace and kind, and the logs of every pod. */
const filesMax = 100_000;

/** All files together; in memory, objects take about five times as much. */
const savedBytesMax = 200_000_000;

const objectFile = /\.(?:jsonl?|ya?ml)(?:\.gz)?$/;

interface ReadOptions {
  readonly onBrokenOff: (problem: ReadProblem) => void;
  /** Rejects with the signal's reason when it aborts. */
  readonly signal: AbortSignal;
}

/** Returns one sentence for each thing that was read or could not be read. */
async function loadObjects(
  files: Files,
  asked: readonly string[],
  evidence: Evidence,
  options: ReadOptions,
): Promise<readonly string[]> {
  const byCluster = new Map<string, SavedObjects>();
  const notes: string[] = [];
  const [recorded, ...others] = new Set(evidence.coverage.map(({ cluster }) => cluster));
  const paths = asked.map(askedPath);
  const only = others.length === 0 ? recorded : undefined;
  const unnamed = unnamedCluster(paths);
  const room: Room = { bytes: savedBytesMax };
  for (const { path, cluster: named = only } of paths) {
    const cluster = named ?? unnamed;
    const saved = byCluster.get(cluster) ?? new SavedObjects(cluster);
    byCluster.set(cluster, saved);
    notes.push(
      ...(await readSet(files, absolute(path), saved, { cluster: named, room, ...options })),
    );
  }
  for (const saved of byCluster.values()) saved.addTo(evidence);
  return notes;
}

interface AskedPath {
  readonly path: string;
  readonly cluster: string | undefined;
}

/** The parts of `cluster=path`, or of a path. */
function askedPath(text: string): AskedPath {
  const [, cluster, path = text] = /^([^=/]+)=(.+)$/.exec(text) ?? [];
  return { path, cluster };
}

/** Objects without a name are one cluster, named by their path. */
function unnamedCluster(asked: readonly AskedPath[]): string {
  const [first, ...others] = asked.filter(({ cluster }) => cluster === undefined);
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `${first?.path ?? ""}${more}`;
}

/** Bytes and files that may still be read. */
interface Room {
  bytes: number;
}

/** All files of one path were saved together. */
async function readSet(
  files: Files,
  path: string,
  saved: SavedObjects,
  options: ReadOptions & { readonly cluster: string | undefined; readonly room: Room },
): Promise<readonly string[]> {
  const notes: string[] = [];
  const { cluster, signal } = options;
  const before = saved.counts;
  const found = await objectFiles(files, path, signal);
  saved.beginSet();
  for (const file of found) {
    const chunks = fileChunks(files, file, options.onBrokenOff);
    const text = await textOf(allUnlessAborted(chunks, signal), options.room);
    if (saved.read(text) === undefined) {
      notes.push(`${file} is neither JSON nor YAML, or has an object of more than 4 MB of YAML.`);
    }
  }
  const objects = saved.counts.objects - before.objects;
  const withoutObject = saved.counts.withoutObject - before.withoutObject;
  const killed = saved.counts.killed - before.killed;
  if (objects + killed === 0) {
    throw new UsageError(noObjects(path, saved.isRecording, withoutObject));
  }
  const count = found.length === 1 ? basename(path) : `${basename(path)} (${found.length} files)`;
  const events = killed === 0 ? "" : ` and the ends of ${counted(killed, "pod")} in events`;
  const of = cluster === undefined ? "" : ` of ${cluster}`;
  notes.push(`${count}: ${counted(objects, "object")}${events}${of}.`);
  if (saved.counts.broken > before.broken) {
    notes.push(`${count}: a list is cut off; its complete objects are used.`);
  }
  if (withoutObject > 0) {
    notes.push(
      `${count}: ${counted(withoutObject, "line")} of the audit log without the object; ` +
        "the level RequestResponse has it.",
    );
  }
  return notes;
}

function noObjects(path: string, isRecording: boolean, withoutObject: number): string {
  if (isRecording) return `${path} is a recording of lockstep record: use --recording`;
  if (withoutObject > 0) {
    return (
      `${path} is an audit log without objects: only the level RequestResponse, for pods and ` +
      "endpointslices, says what became of them"
    );
  }
  return (
    `${path} holds no pods, services, nodes, endpoints or endpointslices. Save them with:\n` +
    "  kubectl get pods,services,nodes,endpointslices,events -A -o json > objects.json"
  );
}

async function textOf(source: AsyncIterable<Uint8Array>, room: Room): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) {
    room.bytes -= chunk.byteLength;
    if (room.bytes < 0) {
      throw new UsageError(
        "the saved objects have more than 200 MB in all: save only the namespaces in question, or " +
          "use a recording",
      );
    }
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The file itself, or every file with objects in the folder and below it. */
async function objectFiles(
  files: Files,
  path: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const names = await namesIn(files, path);
  if (names === undefined) return [path];
  const found: string[] = [];
  for (const name of names) {
    if (found.length >= filesMax) break;
    const below = `${path}/${name}`;
    if (objectFile.test(name)) found.push(below);
    else if (!name.includes(".")) {
      found.push(...(await objectFiles(files, below, signal)).filter(isObject));
    }
  }
  if (names.length === 0 && (await sizeOf(files, path)) === undefined) {
    throw new UsageError(`file or folder ${path} does not exist`);
  }
  return found;
}

function isObject(path: string): boolean {
  return objectFile.test(path);
}

/** Undefined for a file. */
async function namesIn(files: Files, path: string): Promise<readonly string[] | undefined> {
  try {
    return await files.list(path);
  } catch (error) {
    if (error instanceof FilesError && error.code === "NOT_A_FILE") return undefined;
    throw error;
  }
}

/** Undefined when it does not exist; a folder has a size too. */
async function sizeOf(files: Files, path: string): Promise<number | undefined> {
  try {
    return await files.size(path);
  } catch (error) {
    if (error instanceof FilesError && error.code === "NOT_A_FILE") return 0;
    throw error;
  }
}
