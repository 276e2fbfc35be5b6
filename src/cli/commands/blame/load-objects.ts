// Reads objects that were saved from the files and folders that were named, such as those that
// `kubectl cluster-info dump` makes. All of one cluster are put together, whichever file they are in:
// what one has and a later one lacks has gone meanwhile.
import { resolve as absolute, basename } from "node:path";
import { fileChunks, type ReadProblem } from "../../../access-log/file-chunks.ts";
import { allUnlessAborted } from "../../../access-log/until-aborted.ts";
import type { Evidence } from "../../../blame/evidence.ts";
import { SavedObjects } from "../../../blame/saved-objects.ts";
import { type Files, FilesError } from "../../../environment/files.ts";
import { UsageError } from "../../command.ts";
import { counted } from "../../terminal/counted.ts";

/** A dump holds a file for each namespace and kind, and the logs of every pod. */
const filesMax = 100_000;

/** Of all files together; as objects they take some five times as much memory. */
const savedBytesMax = 200_000_000;

const objectFile = /\.(?:jsonl?|ya?ml)(?:\.gz)?$/;

export interface ReadOptions {
  readonly onBrokenOff: (problem: ReadProblem) => void;
  /** Rejects with its reason when it aborts. */
  readonly signal: AbortSignal;
}

/** Returns what was read, and what could not be, each in a sentence. */
export async function loadObjects(
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

/** Of `cluster=path`, or only a path. */
function askedPath(text: string): AskedPath {
  const [, cluster, path = text] = /^([^=/]+)=(.+)$/.exec(text) ?? [];
  return { path, cluster };
}

/** All without a name count as one cluster, and are called by where they are. */
function unnamedCluster(asked: readonly AskedPath[]): string {
  const [first, ...others] = asked.filter(({ cluster }) => cluster === undefined);
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  return `${first?.path ?? ""}${more}`;
}

/** What may still be read. */
interface Room {
  bytes: number;
}

/** What one path holds was saved together. */
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

/** The file itself, or every file of objects in the folder and below it. */
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

/** Undefined when there is none; a folder has a size of its own. */
export async function sizeOf(files: Files, path: string): Promise<number | undefined> {
  try {
    return await files.size(path);
  } catch (error) {
    if (error instanceof FilesError && error.code === "NOT_A_FILE") return 0;
    throw error;
  }
}
