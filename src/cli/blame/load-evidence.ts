// Reads all that a verdict may rest on from the files that were named: recordings, saved objects,
// and folders of them as `kubectl cluster-info dump` makes.
import { resolve as absolute, basename } from "node:path";
import { Evidence } from "../../blame/evidence.ts";
import { readRecording } from "../../blame/recording-file.ts";
import { RecordingReader, RecordingVersionError } from "../../blame/recording-reader.ts";
import { SavedObjects } from "../../blame/saved-objects.ts";
import { type Files, FilesError } from "../../environment/files.ts";
import { UsageError } from "../command.ts";
import { counted } from "../counted.ts";

export interface AskedEvidence {
  readonly recordings: readonly string[];
  /** Each a file or a folder, or `cluster=path`. */
  readonly objects: readonly string[];
}

export interface LoadedEvidence {
  readonly evidence: Evidence;
  /** What was read, and what could not be, each in one sentence. */
  readonly notes: readonly string[];
}

/** Of saved objects whose cluster was not named. */
const unnamedCluster = "saved";

/** A dump holds a file for each namespace and kind, and the logs of every pod. */
const filesMax = 100_000;

const objectFile = /\.(?:json|ya?ml)$/;

export async function loadEvidence(files: Files, asked: AskedEvidence): Promise<LoadedEvidence> {
  const evidence = new Evidence();
  const notes: string[] = [];
  for (const path of asked.recordings) notes.push(...(await loadRecording(files, path, evidence)));
  for (const text of asked.objects) notes.push(...(await loadObjects(files, text, evidence)));
  const { lives, publications, malformed } = evidence;
  if (malformed > 0) notes.push(`${counted(malformed, "object")} not understood and left out.`);
  const dropped = lives.dropped + publications.dropped;
  if (dropped > 0) {
    notes.push(`${dropped} of the oldest pods and lists had to be left out to save memory.`);
  }
  return { evidence, notes };
}

async function loadRecording(
  files: Files,
  path: string,
  evidence: Evidence,
): Promise<readonly string[]> {
  const reader = new RecordingReader(evidence);
  const broken: string[] = [];
  const file = absolute(path);
  if ((await sizeOf(files, file)) === undefined) {
    throw new UsageError(`there is no recording ${path}; lockstep record --out ${path} makes one`);
  }
  try {
    const onBrokenOff = (problem: string): void => void broken.push(`${problem}.`);
    await readRecording(files, file, reader, onBrokenOff);
  } catch (error) {
    if (!(error instanceof RecordingVersionError)) throw error;
    throw new UsageError(`${path} cannot be read: ${error.message}`, { cause: error });
  }
  const { lines, runs, unreadable } = reader.counts;
  if (runs === 0) {
    throw new UsageError(`${path} is no recording of lockstep record: it has no run in it`);
  }
  const torn = unreadable === 0 ? "" : `; ${unreadable} unreadable, such as half of a last line`;
  return [
    `${basename(path)}: ${counted(runs, "run")}, ${counted(lines, "line")}${torn}.`,
    ...broken,
  ];
}

async function loadObjects(
  files: Files,
  text: string,
  evidence: Evidence,
): Promise<readonly string[]> {
  const equals = text.indexOf("=");
  const cluster = equals === -1 ? unnamedCluster : text.slice(0, equals);
  const path = absolute(equals === -1 ? text : text.slice(equals + 1));
  const saved = new SavedObjects(cluster);
  const notes: string[] = [];
  const found = await objectFiles(files, path);
  for (const file of found) {
    const content = Buffer.from((await files.read(file)) ?? []).toString("utf8");
    if (saved.read(content) === undefined) notes.push(`${file} is neither JSON nor YAML.`);
  }
  if (saved.size === 0) {
    throw new UsageError(
      `${path} holds no pods, services, nodes, endpoints or endpointslices. Save them with:\n` +
        "  kubectl get pods,services,nodes,endpointslices,events -A -o json > objects.json",
    );
  }
  saved.addTo(evidence);
  const count = found.length === 1 ? basename(path) : `${basename(path)} (${found.length} files)`;
  return [...notes, `${count}: ${counted(saved.size, "object")} of ${cluster}.`];
}

/** The file itself, or every file of objects in the folder and below it. */
async function objectFiles(files: Files, path: string): Promise<readonly string[]> {
  const names = await namesIn(files, path);
  if (names === undefined) return [path];
  const found: string[] = [];
  for (const name of names) {
    if (found.length >= filesMax) break;
    const below = `${path}/${name}`;
    if (objectFile.test(name)) found.push(below);
    else if (!name.includes(".")) found.push(...(await objectFiles(files, below)).filter(isObject));
  }
  if (names.length === 0 && (await sizeOf(files, path)) === undefined) {
    throw new UsageError(`there is no file or folder ${path}`);
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

/** Undefined when there is none; a folder has a size of its own. */
async function sizeOf(files: Files, path: string): Promise<number | undefined> {
  try {
    return await files.size(path);
  } catch (error) {
    if (error instanceof FilesError && error.code === "NOT_A_FILE") return 0;
    throw error;
  }
}
