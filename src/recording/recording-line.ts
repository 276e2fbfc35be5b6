// The form of a recording: JSON lines. A run begins with a header. Its first lists are the initial
// state; a mark shows that a list was complete, so that missing objects are gone. Afterwards every
// change is a line, and a regular sign of life shows until when there was none. A malformed line,
// such as the last one of a run that was killed, harms no other.
//
// Version 2 also has all other inputs of an observer (`recorded-input.ts`). Its lines have `t`, the
// instant by the monotonic clock of the run, because the fold of `watch` needs exact times.
import { isRecord, optionalString, type RawRecord, requiredString } from "../kube/kinds/fields.ts";
import type { LearntBy } from "../kube/store/store-change.ts";
import { optionalName, requiredName } from "./metadata-text.ts";
import { inputOf, type RecordedInput } from "./recorded-input.ts";
import { type RecordedKindName, recordedKinds } from "./recorded-kinds.ts";
import { type WatchedRun, watchedRunOf } from "./watched-run.ts";

const recordingVersion = 2;

const recordingName = "lockstep-recording";

export type RecordingLine =
  | {
      readonly type: "run";
      readonly atMs: number;
      readonly run: string;
      readonly version: number;
      /** Absent in what older versions of `lockstep record` wrote. */
      readonly watched: WatchedRun | undefined;
    }
  /** The first list of a kind in a cluster is over; of one namespace where only that is recorded. */
  | {
      readonly type: "listed";
      readonly atMs: number;
      readonly cluster: string;
      readonly kind: RecordedKindName;
      readonly namespace: string | undefined;
      readonly t?: number | undefined;
    }
  | { readonly type: "input"; readonly t: number; readonly input: RecordedInput }
  | { readonly type: "alive"; readonly atMs: number; readonly behind: readonly string[] }
  | RecordedChange;

export interface RecordedChange {
  readonly type: "change";
  readonly atMs: number;
  readonly cluster: string;
  readonly kind: RecordedKindName;
  readonly change: "added" | "updated" | "deleted";
  readonly by: LearntBy;
  /** Learnt late, from a list or from a watch that was behind: it happened after this. */
  readonly afterMs: number | undefined;
  readonly object: RawRecord;
  /** By the monotonic clock of the run. */
  readonly monotonic?: ChangeTimes | undefined;
}

export interface ChangeTimes {
  readonly t: number;
  /** Learnt late: it happened after this. */
  readonly since: number | undefined;
  /** It is what was there when the observation began. */
  readonly isFirst: boolean;
}

/** `recording` and its form, so that a finder of the file knows what it is. */
export function runLine(line: {
  readonly atMs: number;
  readonly run: string;
  readonly watched?: WatchedRun | undefined;
}): string {
  const { atMs, run, watched } = line;
  const head = { kind: recordingName, version: recordingVersion };
  return JSON.stringify({ ...head, at: iso(atMs), run, watched });
}

export function inputLine(t: number, input: RecordedInput): string {
  return JSON.stringify({ t, input });
}

export function listedLine(line: {
  readonly atMs: number;
  readonly cluster: string;
  readonly kind: RecordedKindName;
  readonly namespace: string | undefined;
  readonly t?: number;
}): string {
  const { atMs, cluster, kind, namespace, t } = line;
  return JSON.stringify({ at: iso(atMs), t, cluster, listed: kind, namespace });
}

export function aliveLine(line: {
  readonly atMs: number;
  /** Watches that may be behind: `prod pods`. */
  readonly behind: readonly string[];
}): string {
  const { atMs, behind } = line;
  return JSON.stringify({ at: iso(atMs), alive: true, ...(behind.length > 0 && { behind }) });
}

/** The object is JSON already. */
export function changeLine(
  line: Omit<RecordedChange, "type" | "object"> & { readonly json: string },
): string {
  const { atMs, cluster, kind, change, by, afterMs, json, monotonic } = line;
  const after = afterMs === undefined ? undefined : iso(afterMs);
  const times = { t: monotonic?.t, since: monotonic?.since };
  const first = monotonic?.isFirst === true ? true : undefined;
  const what = { at: iso(atMs), ...times, cluster, kind, change, by, after, first };
  const head = JSON.stringify(what);
  return `${head.slice(0, -1)},"object":${json}}`;
}

/** Undefined for a line that is none. Throws nothing. */
export function parseRecordingLine(text: string): RecordingLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isRecord(line) ? lineOf(line) : undefined;
  } catch {
    // Half of a line, or none of ours: the reader counts it.
    return undefined;
  }
}

function lineOf(line: RawRecord): RecordingLine | undefined {
  const { t, input } = { t: numberOf(line["t"]), input: line["input"] };
  if (isRecord(input) && t !== undefined) {
    const known = inputOf(input);
    return known && { type: "input", t, input: known };
  }
  const atMs = instantOf(requiredString(line, "at"));
  if (Number.isNaN(atMs)) return undefined;
  if (line["kind"] === recordingName) {
    const version = line["version"];
    if (typeof version !== "number") return undefined;
    const watched = watchedRunOf(line["watched"]);
    return { type: "run", atMs, run: requiredString(line, "run"), version, watched };
  }
  if (line["alive"] === true) {
    const behind = Array.isArray(line["behind"]) ? line["behind"].map(String) : [];
    return { type: "alive", atMs, behind };
  }
  const cluster = requiredName(line, "cluster");
  const listed = kindName(line["listed"]);
  if (listed !== undefined) {
    const namespace = optionalName(line, "namespace");
    return { type: "listed", atMs, cluster, kind: listed, namespace, t };
  }
  return changeOf(line, atMs, cluster);
}

function changeOf(line: RawRecord, atMs: number, cluster: string): RecordedChange | undefined {
  const kind = kindName(line["kind"]);
  const { change, by, object } = { change: line["change"], by: line["by"], object: line["object"] };
  const after = optionalString(line, "after");
  const afterMs = after === undefined ? undefined : instantOf(after);
  if (kind === undefined || !isRecord(object) || Number.isNaN(afterMs)) return undefined;
  if (change !== "added" && change !== "updated" && change !== "deleted") return undefined;
  if (by !== "watch" && by !== "list") return undefined;
  const t = numberOf(line["t"]);
  const isFirst = line["first"] === true;
  const monotonic = t === undefined ? t : { t, since: numberOf(line["since"]), isFirst };
  return { type: "change", atMs, cluster, kind, change, by, afterMs, object, monotonic };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function kindName(value: unknown): RecordedKindName | undefined {
  return Object.values(recordedKinds).find(({ kind }) => kind === value)?.kind;
}

/** As `iso` writes them, with years of four digits. */
function instantOf(text: string): number {
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The file was written by a later version. */
export class RecordingVersionError extends Error {
  override readonly name = "RecordingVersionError";
  readonly code = "RECORDING_VERSION";
}

/** Throws `RecordingVersionError` for a version whose lines may mean something else. */
export function refuseLaterVersion(version: number): void {
  if (version <= recordingVersion) return;
  throw new RecordingVersionError(
    `it has version ${version}, and this lockstep reads version ${recordingVersion}`,
  );
}
