// Reads a recording for its changes alone, as fast as it can be read: each run with its journeys, in
// the order of the file. `lockstep watch --replay` shows one at its own pace.
import type { Files } from "../environment/files.ts";
import type { Log } from "../environment/log.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { readRecording, recordingTexts } from "./recording-file.ts";
import { parseRecordingLine, type RecordingLine, refuseLaterVersion } from "./recording-line.ts";
import { RecordingSurvey } from "./recording-survey.ts";
import { ReplayedRun, type RunHeader } from "./replayed-run.ts";

export interface ReplayOptions {
  readonly files: Files;
  /** Absolute. */
  readonly path: string;
  readonly log: Pick<Log, "info">;
  readonly signal: AbortSignal;
  /** A run begins; its events go to the result. */
  readonly onRun: (header: RunHeader) => RunListener;
}

export interface RunListener {
  onEvent(event: JourneyEvent): void;
  /** By the clock of the run. */
  ended(nowMs: number): void;
}

/** Returns the lines that could not be read. Rejects with a `RecordingVersionError`. */
export async function replayJourneys(options: ReplayOptions): Promise<number> {
  const { files, path, signal } = options;
  const replay = new JourneyReplay(options, await surveyOf(options));
  for await (const texts of recordingTexts(files, path, { signal })) {
    for (const text of texts) if (text !== "") replay.read(text);
  }
  replay.endRun();
  return replay.unreadable;
}

/** Only older recordings have to be read twice. */
async function surveyOf({ files, path, signal }: ReplayOptions): Promise<RecordingSurvey> {
  const survey = new RecordingSurvey();
  let isComplete = false;
  const read = (text: string): void => {
    const line = isComplete ? undefined : parseRecordingLine(text);
    if (line?.type === "run") isComplete = line.watched !== undefined;
    else if (line !== undefined) survey.take(line);
  };
  await readRecording(files, path, { read }, { signal });
  return survey;
}

class JourneyReplay {
  readonly #options: ReplayOptions;
  readonly #survey: RecordingSurvey;
  #run: { readonly run: ReplayedRun; readonly listener: RunListener } | undefined;
  unreadable = 0;

  constructor(options: ReplayOptions, survey: RecordingSurvey) {
    this.#options = options;
    this.#survey = survey;
  }

  read(text: string): void {
    const line = parseRecordingLine(text);
    if (line === undefined) this.unreadable += 1;
    else this.#take(line);
  }

  /** Idempotent. */
  endRun(): void {
    const { run, listener } = this.#run ?? {};
    this.#run = undefined;
    if (run !== undefined) listener?.ended(run.clock.monotonicMs());
  }

  #take(line: RecordingLine): void {
    if (line.type === "run") {
      refuseLaterVersion(line.version);
      if (line.run !== this.#run?.run.run.name) {
        this.endRun();
        this.#begin(line);
        return;
      }
    }
    this.#run?.run.take(line);
    if (line.type === "input" && line.input.type === "ended") this.endRun();
  }

  #begin(header: RunHeader): void {
    const { log, onRun } = this.#options;
    const listener = onRun(header);
    const onEvent = (event: JourneyEvent): void => listener.onEvent(event);
    this.#run = { run: new ReplayedRun({ header, survey: this.#survey, log, onEvent }), listener };
  }
}
