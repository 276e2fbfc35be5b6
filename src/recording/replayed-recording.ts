// A whole recording, replayed: every run in it, one after the other. The caller has the texts and sets
// the pace; nothing is thrown for a line that cannot be read.
import type { Log } from "../environment/log.ts";
import type { ServiceBounds } from "../observe/service-filter.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { parseRecordingLine, type RecordingLine, refuseLaterVersion } from "./recording-line.ts";
import { RecordingSurvey } from "./recording-survey.ts";
import { ReplayedRun, type RunHeader } from "./replayed-run.ts";

export interface ReplayedRecordingOptions {
  readonly survey: RecordingSurvey;
  readonly bounds?: ServiceBounds;
  readonly log: Pick<Log, "info">;
  /** A run begins. */
  readonly onRun: (run: ReplayedRun) => void;
  readonly onEvent: (event: JourneyEvent, run: ReplayedRun) => void;
  /** Called before a line is taken in, with its instant: to wait, or to refuse it. */
  readonly onLine: (instant: number, run: ReplayedRun) => Promise<void> | void;
}

/** Rubbish could name any number of them. */
const runsMax = 10_000;

/**
 * The clusters and services of a recording. Undefined for texts that are no recording; throws a
 * `RecordingVersionError` for one of a later version.
 */
export class SurveyedTexts {
  readonly #survey = new RecordingSurvey();
  #isComplete = false;
  /** The header of each run; a run that goes on in a second file has two. */
  #last: RunHeader | undefined;
  readonly #names = new Set<string>();

  take(text: string): void {
    const line = parseRecordingLine(text);
    if (line?.type === "run") {
      refuseLaterVersion(line.version);
      if (line.run !== this.#last?.run) this.#last = line;
      if (this.#names.size < runsMax) this.#names.add(line.run);
      // A header with this field is complete.
      this.#isComplete = line.watched !== undefined;
    } else if (line !== undefined && !this.#isComplete) this.#survey.take(line);
  }

  get survey(): RecordingSurvey | undefined {
    return this.#last === undefined ? undefined : this.#survey;
  }

  /** The first header of the last run. */
  get lastRun(): RunHeader | undefined {
    return this.#last;
  }

  get runs(): number {
    return this.#names.size;
  }
}

export class ReplayedRecording {
  readonly #options: ReplayedRecordingOptions;
  #run: ReplayedRun | undefined;
  /** Lines that could not be read. */
  unreadable = 0;

  constructor(options: ReplayedRecordingOptions) {
    this.#options = options;
  }

  /** Takes one line in. */
  async take(text: string): Promise<void> {
    if (text === "") return;
    const line = parseRecordingLine(text);
    if (line === undefined) {
      this.unreadable += 1;
      return;
    }
    if (line.type === "run" && line.run !== this.#run?.run.name) this.#begin(line);
    else await this.#next(line);
  }

  #begin(header: RunHeader): void {
    refuseLaterVersion(header.version);
    const { onRun, onEvent, ...options } = this.#options;
    const run: ReplayedRun = new ReplayedRun({
      ...options,
      header,
      onEvent: (event) => onEvent(event, run),
    });
    this.#run = run;
    onRun(run);
  }

  async #next(line: RecordingLine): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    const waiting = this.#options.onLine(run.instantOf(line), run);
    if (waiting !== undefined) await waiting;
    run.take(line);
  }
}
