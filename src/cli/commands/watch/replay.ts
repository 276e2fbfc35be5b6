// Runs `lockstep watch --replay`: the view of a recording instead of clusters. Each run in the file
// is shown separately, with the times of the recording.
import { setMaxListeners } from "node:events";
import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../../environment/counted.ts";
import type { Environment } from "../../../environment/environment.ts";
import { FilesError } from "../../../environment/files.ts";
import { recordingParts, recordingTexts } from "../../../recording/recording-file.ts";
import {
  parseRecordingLine,
  type RecordingLine,
  RecordingVersionError,
  refuseLaterVersion,
} from "../../../recording/recording-line.ts";
import type { RecordingSurvey } from "../../../recording/recording-survey.ts";
import { SurveyedTexts } from "../../../recording/replayed-recording.ts";
import { ReplayedRun, type RunHeader } from "../../../recording/replayed-run.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, type TimeGiven } from "../../flags.ts";
import { typedCommand } from "../../typed-command.ts";
import { ReplayPace, type ReplaySpeed } from "./replay-pace.ts";
import type { WatchSettings } from "./settings.ts";
import { WatchView } from "./view.ts";

export interface ReplaySettings extends Pick<WatchSettings, "slowMs" | "utc" | "json" | "bounds"> {
  /** Absolute. */
  readonly path: string;
  /** Undefined: speed 1 on a screen, else as fast as possible. */
  readonly speed: ReplaySpeed | undefined;
  /** A duration counts from the start of the recording. */
  readonly from: TimeGiven | undefined;
}

export async function runReplay(
  context: CommandContext,
  settings: ReplaySettings,
): Promise<ExitCode> {
  const { stop } = context;
  // Each wait adds a listener.
  setMaxListeners(0, stop);
  const replay = new Replay(context, settings);
  try {
    return await asUsage([FilesError, RecordingVersionError], () => replay.run());
  } catch (error) {
    if (!stop.aborted || error !== stop.reason) throw error;
    return replay.end();
  } finally {
    replay.close();
  }
}

class Replay {
  readonly #context: CommandContext;
  readonly #settings: ReplaySettings;
  #run: ReplayedRun | undefined;
  #view: WatchView | undefined;
  #pace: ReplayPace | undefined;
  #isOver = false;
  /** The recorded run has started its view. */
  #hasBegun = false;
  /** This replay has started its view. */
  #isStarted = false;
  #hasListed = false;
  #runs = 0;
  #unreadable = 0;
  readonly #closeKeys: () => void;

  constructor(context: CommandContext, settings: ReplaySettings) {
    this.#context = context;
    this.#settings = settings;
    this.#closeKeys = this.#isScreen ? (context.keys?.(this.#key) ?? noKeys) : noKeys;
  }

  async run(): Promise<ExitCode> {
    const { environment, stop, terminal } = this.#context;
    const { survey } = await surveyedTexts(environment, this.#settings.path, stop);
    if (survey === undefined) throw new Error("a recording has a survey");
    for await (const texts of recordingTexts(environment.files, this.#settings.path)) {
      for (const text of texts) {
        const line = text === "" ? undefined : parseRecordingLine(text);
        if (line !== undefined) await this.#take(line, survey);
        else if (text !== "") this.#unreadable += 1;
      }
      await terminal.drained?.(stop);
    }
    return this.end();
  }

  /** Prints the summary. */
  end(): ExitCode {
    this.#endRun();
    const { terminal } = this.#context;
    const lines = this.#unreadable;
    if (lines > 0) terminal.writeError(`${counted(lines, "line")} skipped: cannot be read.\n`);
    return this.#hasListed ? 0 : 1;
  }

  close(): void {
    this.#closeKeys();
  }

  get #isScreen(): boolean {
    return this.#context.terminal.interactive && !this.#settings.json;
  }

  async #take(line: RecordingLine, survey: RecordingSurvey): Promise<void> {
    if (line.type === "run") refuseLaterVersion(line.version);
    if (line.type === "run" && line.run !== this.#run?.run.name) {
      this.#endRun();
      this.#begin(line, survey);
      return;
    }
    const run = this.#run;
    if (run === undefined || this.#isOver) return;
    const t = run.instantOf(line);
    await this.#pace?.reach(t, this.#context.stop);
    const isRun = !run.hasTicks || this.#hasBegun;
    if (!this.#isStarted && isRun && t >= this.#fromMs(run)) this.#startView();
    run.take(line);
    if (line.type !== "input") return;
    if (line.input.type === "started") {
      this.#hasBegun = true;
      if (t >= this.#fromMs(run)) this.#startView();
    }
    if (line.input.type === "ended") this.#endRun();
  }

  #begin(header: RunHeader, survey: RecordingSurvey): void {
    const { environment, terminal } = this.#context;
    const { settings } = { settings: this.#settings };
    this.#runs += 1;
    const run = new ReplayedRun({
      header,
      survey,
      bounds: settings.bounds,
      log: environment.log,
      onEvent: (event) => {
        if (this.#isOver) return;
        if (!this.#isStarted) this.#view?.count(event);
        else {
          this.#pace?.shown();
          this.#view?.onEvent(event);
        }
      },
    });
    const { clock, watched } = run;
    this.#run = run;
    this.#isOver = false;
    this.#isStarted = false;
    this.#hasBegun = false;
    this.#pace = new ReplayPace({
      ...environment,
      speed: settings.speed ?? (this.#isScreen ? 1 : "max"),
      fromMs: this.#fromMs(run),
    });
    const { namespaces, services } = watched;
    this.#view = new WatchView({
      clock,
      // A screen is redrawn in real time.
      timers: this.#isScreen ? environment.timers : clock,
      log: environment.log,
      terminal,
      settings,
      isScreen: this.#isScreen,
      bounds: { namespaces, services, ...settings.bounds },
      observer: run,
      accessClusters: watched.clusters
        .filter(({ isAccess }) => isAccess)
        .map(({ cluster }) => cluster),
      asked: watched.asked,
      notes: () => run.notes,
      explain: (cluster) => typedCommand(environment.processes, `doctor --context ${cluster}`),
      title: () => this.#title(),
    });
    const { path } = settings;
    const which = this.#runs === 1 ? "" : `, run ${this.#runs}`;
    const at = new Date(watched.wallMs).toISOString();
    terminal.writeError(`Replay of ${visible(path)}${which}, recorded since ${at}.\n`);
    if (this.#isScreen) terminal.writeError(`${keysText}\n`);
    terminal.writeError("\n");
  }

  #fromMs({ watched }: ReplayedRun): number {
    const { from } = this.#settings;
    if (from === undefined) return -Infinity;
    const afterMs = from.type === "duration" ? from.ms : from.wallMs - watched.wallMs;
    return watched.monotonicMs + afterMs;
  }

  #title(): string {
    const pace = this.#pace?.text ?? "";
    return `lockstep watch --replay · ${pace}`;
  }

  #startView(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#view?.start();
  }

  #endRun(): void {
    const run = this.#run;
    if (run === undefined || this.#isOver) return;
    this.#isOver = true;
    this.#view?.end();
    this.#hasListed ||= run.clusters().some(({ watches }) => watches.some((one) => one.listed));
    const { malformed } = run;
    if (malformed === 0) return;
    const { terminal } = this.#context;
    terminal.writeError(`${counted(malformed, "object")} skipped: unknown format.\n`);
  }

  readonly #key = (key: string): void => {
    const pace = this.#pace;
    if (key === " ") pace?.pause();
    else if (key === "s" || key === "\u001b[C") pace?.step();
    else if (key === "+" || key === "=") pace?.faster();
    else if (key === "-" || key === "−") pace?.slower();
    else return;
    this.#view?.redraw();
  };
}

const keysText = "keys: space pauses, → or s jumps to the next change, + and − change the speed";

const noKeys = (): void => undefined;

/**
 * Reads the clusters and services of the file. Rejects with a `UsageError` if it is no recording.
 */
export async function surveyedTexts(
  { files }: Pick<Environment, "files">,
  path: string,
  signal: AbortSignal,
): Promise<SurveyedTexts> {
  if ((await recordingParts(files, path)).length === 0) {
    throw new UsageError(`recording ${path} does not exist.`);
  }
  const surveyed = new SurveyedTexts();
  for await (const texts of recordingTexts(files, path, { signal })) {
    for (const text of texts) surveyed.take(text);
  }
  if (surveyed.survey !== undefined) return surveyed;
  throw new UsageError(`${path} is not a recording of lockstep watch or lockstep record.`);
}
