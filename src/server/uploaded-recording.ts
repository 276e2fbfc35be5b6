// A recording that was dropped onto the page: its changes, from the same replay as `lockstep watch
// --replay`. The file is a stranger's, so its size, its time and the answer are bounded, and other work
// gets its turn all the while.
import { elapsedMs } from "../environment/clock.ts";
import { counted } from "../environment/counted.ts";
import type { Environment } from "../environment/environment.ts";
import { LineSplitter } from "../environment/line-splitter.ts";
import { RecordingVersionError } from "../recording/recording-line.ts";
import { ReplayedRecording, SurveyedTexts } from "../recording/replayed-recording.ts";
import type { ReplayedRun } from "../recording/replayed-run.ts";
import type { Journey } from "../timeline/journey.ts";
import { journeyRecord, wallAt } from "../timeline/journey-record.ts";
import type { Journey as JourneyAnswer, Recording } from "./api.ts";
import { PageProblem } from "./page-source.ts";

type Means = Pick<Environment, "clock" | "timers" | "log">;

/** A person waits no longer; the command line has no limit. */
const withinMs = 60_000;

/** A page cannot scrub through more. */
const journeysMax = 5_000;

/** After this many lines other requests get a turn: some milliseconds. */
const linesAtOnce = 200;

/** An older recording is looked at for every second of it, so a longer gap would be too much work. */
const gapMaxMs = 3_600_000;

/** An Endpoints object holds at most 1,000 addresses. */
const lineBytesMax = 4 * 1024 * 1024;

const insteadText = "Use lockstep watch --replay FILE.";

export class UploadedRecordings {
  readonly #means: Means;
  #isBusy = false;

  constructor(means: Means) {
    this.#means = means;
  }

  /** One at a time. Rejects with a `PageProblem` for a file that cannot be shown. */
  readonly read = async (bytes: Uint8Array, signal: AbortSignal): Promise<Recording> => {
    if (this.#isBusy) {
      throw new PageProblem(503, "Another recording is being read. Try again in a minute.");
    }
    this.#isBusy = true;
    try {
      return await new Upload(this.#means, bytes, signal).read();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PageProblem) throw error;
      if (error instanceof RecordingVersionError) {
        throw new PageProblem(422, `The recording cannot be read: ${error.message}.`);
      }
      // A damaged file may break any assumption of the replay; the server goes on.
      this.#means.log.warn("a dropped recording could not be replayed", { error });
      throw new PageProblem(422, `The file is damaged and cannot be replayed. ${insteadText}`);
    } finally {
      this.#isBusy = false;
    }
  };
}

class Upload {
  readonly #means: Means;
  readonly #bytes: Uint8Array;
  readonly #signal: AbortSignal;
  readonly #journeys = new Map<string, JourneyAnswer>();
  readonly #leftOut = new Set<string>();
  readonly #clusters = new Set<string>();
  readonly #notes = new Set<string>();
  readonly #runs: ReplayedRun[] = [];
  #fromMs = Infinity;
  #toMs = -Infinity;
  #lines = 0;
  #malformed = 0;
  /** The instant of the last line, by the clock of its run. */
  #instant = 0;

  constructor(means: Means, bytes: Uint8Array, signal: AbortSignal) {
    this.#means = means;
    this.#bytes = bytes;
    this.#signal = signal;
  }

  async read(): Promise<Recording> {
    const { clock, log } = this.#means;
    const startedAt = clock.monotonicMs();
    const surveyed = new SurveyedTexts();
    const isOverdue = (): boolean => elapsedMs(startedAt, clock.monotonicMs()) > withinMs;
    await this.#each(isOverdue, (text) => surveyed.take(text));
    const { survey } = surveyed;
    if (survey === undefined) {
      throw new PageProblem(422, "This is not a recording of lockstep watch or lockstep record.");
    }
    const recording = new ReplayedRecording({
      survey,
      log,
      onRun: (run) => this.#begin(run),
      onEvent: ({ journey }, run) => this.#keep(journey, run),
      onLine: (instant, run) => this.#refuseGap(instant, run),
    });
    await this.#each(isOverdue, (text) => recording.take(text));
    this.#endRun();
    if (recording.unreadable > 0) {
      this.#notes.add(`${counted(recording.unreadable, "line")} could not be read.`);
    }
    if (this.#malformed > 0)
      this.#notes.add(`${counted(this.#malformed, "object")} in an unknown format.`);
    return {
      from: this.#fromMs,
      to: Math.max(this.#fromMs, this.#toMs),
      clusters: [...this.#clusters],
      journeys: [...this.#journeys.values()],
      leftOut: this.#leftOut.size,
      notes: [...this.#notes],
    };
  }

  async #each(
    isOverdue: () => boolean,
    take: (text: string) => void | Promise<void>,
  ): Promise<void> {
    const splitter = new LineSplitter({ bytesMax: lineBytesMax });
    for (const line of linesOf(splitter, this.#bytes)) {
      await take(line);
      this.#lines += 1;
      if (this.#lines % linesAtOnce !== 0) continue;
      await this.#means.timers.breathe();
      this.#signal.throwIfAborted();
      if (isOverdue()) {
        throw new PageProblem(422, `The recording takes more than a minute. ${insteadText}`);
      }
    }
  }

  #begin(run: ReplayedRun): void {
    this.#endRun();
    this.#runs.push(run);
    this.#instant = run.clock.monotonicMs();
    this.#fromMs = Math.min(this.#fromMs, run.run.wallMs);
    for (const { cluster } of run.watched.clusters) this.#clusters.add(cluster);
  }

  #endRun(): void {
    const run = this.#runs.pop();
    if (run === undefined) return;
    for (const journey of run.journeys.pending(journeysMax)) this.#keep(journey, run);
    this.#toMs = Math.max(this.#toMs, wallAt(run.clock.monotonicMs(), run.run));
    this.#malformed += run.malformed;
    for (const note of run.notes.slice(0, 20)) this.#notes.add(note);
  }

  #keep(journey: Journey, { run }: ReplayedRun): void {
    const { hops, ...record } = journeyRecord(journey, run);
    const isRoom = this.#journeys.size < journeysMax || this.#journeys.has(record.id);
    if (isRoom) this.#journeys.set(record.id, { ...record, hops: [...hops] });
    else this.#leftOut.add(record.id);
  }

  #refuseGap(instant: number, { hasTicks }: ReplayedRun): void {
    const isGap = !Number.isFinite(instant) || (!hasTicks && instant - this.#instant > gapMaxMs);
    if (isGap) throw new PageProblem(422, `The recording has a gap of hours. ${insteadText}`);
    this.#instant = Math.max(this.#instant, instant);
  }
}

/** In chunks, so that lines are not all in memory at once. */
const chunkBytes = 64 * 1024;

function* linesOf(splitter: LineSplitter, bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) {
    for (const { text } of splitter.push(bytes.subarray(at, at + chunkBytes))) yield text;
  }
  for (const { text } of splitter.end()) yield text;
}
