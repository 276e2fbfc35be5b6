// Runs `lockstep whatif`: a prediction, the search for settings that meet a target, or a sweep. Progress
// goes to standard error, so that a pipe gets the answer only. Ctrl-C ends the simulation.
import { durationText } from "../../../environment/duration-text.ts";
import { inputText } from "../../../lab/whatif/inputs.ts";
import { Laboratory } from "../../../lab/whatif/laboratory.ts";
import type { RunProgress } from "../../../lab/whatif/publishing-run.ts";
import type { Question } from "../../../lab/whatif/question.ts";
import { sweep, sweepValues } from "../../../lab/whatif/sweep.ts";
import { findSettings } from "../../../lab/whatif/target.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { refuseBoth } from "../../flags.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { reportColumns } from "../../terminal/text.ts";
import { readFromContext } from "./cluster-counts.ts";
import type { Sweep, WhatifFlags } from "./command.ts";
import { examplePreset, fittedIn, questionOf } from "./question.ts";
import { sweepLines } from "./sweep-lines.ts";
import { targetHead, targetLines, tryLines } from "./target-lines.ts";
import {
  type LineOptions,
  predictionDocument,
  predictionLines,
  questionLines,
  sweepDocument,
  targetDocument,
} from "./view.ts";

export async function runWhatif(context: CommandContext, flags: WhatifFlags): Promise<ExitCode> {
  const { given, target, sweep, fromContext, kubeconfig, kubeVersion, heartbeat, seed } = flags;
  refuseBoth({ "--target": target !== undefined, "--sweep": sweep !== undefined });
  refuseBoth({
    "--preset": flags.preset !== undefined,
    "--from-context": fromContext !== undefined,
  });
  if (sweep !== undefined && given[sweep.input.key] !== undefined) {
    throw new UsageError(`--${sweep.input.key} is the value of the sweep: remove it.`);
  }
  const isOpen = Object.keys(given).length === 0 && kubeVersion === undefined;
  const isExample = isOpen && fromContext === undefined && heartbeat === undefined && !sweep;
  const preset = flags.preset ?? (isExample ? examplePreset : undefined);
  const read =
    fromContext === undefined
      ? undefined
      : await readFromContext(context, { name: fromContext, kubeconfig });
  const question = questionOf({
    given,
    seed,
    ...(preset === undefined ? {} : { preset }),
    ...(kubeVersion === undefined ? {} : { version: kubeVersion }),
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(read === undefined ? {} : { read }),
  });
  if (target !== undefined && question.settings.batchMs >= target) {
    throw new UsageError(
      "--target must be longer than --batch-period, because every change waits for that time.",
    );
  }
  return answer(context, question, {
    json: flags.json,
    steps: flags.steps,
    ...(target === undefined ? {} : { targetMs: target }),
    ...(sweep === undefined ? {} : { sweep }),
    ...(preset === undefined ? {} : { fitted: fittedIn(preset) }),
    ...(flags.preset === undefined && isExample ? { example: examplePreset } : {}),
  });
}

interface AnswerOptions {
  readonly json: boolean;
  readonly steps: number;
  readonly targetMs?: number;
  readonly sweep?: Sweep;
  /** Assumptions of the preset. */
  readonly fitted?: string;
  /** The preset that is used because no flag describes the cluster. */
  readonly example?: string;
}

/** The tables do not use more. */
const widthMax = 100;

async function answer(
  context: CommandContext,
  question: Question,
  options: AnswerOptions,
): Promise<ExitCode> {
  const { terminal, stop, environment } = context;
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const answering = new Answering(context, question, options, progress);
  if (options.example !== undefined) {
    terminal.writeError(`No cluster was given; using the example ${options.example}.\n`);
  }
  try {
    return await answering.answer();
  } catch (error) {
    if (!stop.aborted) throw error;
    progress.clear();
    terminal.writeError("Stopped before the prediction was complete.\n");
    return 2;
  } finally {
    progress.clear();
  }
}

class Answering {
  readonly #context: CommandContext;
  readonly #question: Question;
  readonly #options: AnswerOptions;
  readonly #progress: ProgressLine;
  readonly #laboratory: Laboratory;
  readonly #lines: LineOptions;
  #doing = "";

  constructor(
    context: CommandContext,
    question: Question,
    options: AnswerOptions,
    progress: ProgressLine,
  ) {
    const { terminal } = context;
    this.#context = context;
    this.#question = question;
    this.#options = options;
    this.#progress = progress;
    this.#laboratory = new Laboratory({
      onProgress: (step) => this.#show(step),
      signal: context.stop,
    });
    const width = reportColumns(terminal, widthMax);
    const { fitted } = options;
    const paint = paintFor(terminal);
    this.#lines = { width, paint, ...(fitted === undefined ? {} : { fitted }) };
  }

  async answer(): Promise<ExitCode> {
    const { targetMs, sweep: asked } = this.#options;
    if (targetMs !== undefined) return this.#search(targetMs);
    if (asked !== undefined) return this.#sweep(asked);
    const prediction = await this.#laboratory.predict(this.#question);
    if (this.#options.json) this.#document(predictionDocument(prediction));
    else this.#write(predictionLines(prediction, this.#lines));
    return 0;
  }

  async #search(targetMs: number): Promise<ExitCode> {
    this.#write([
      ...questionLines(this.#question, this.#lines),
      "",
      ...targetHead(targetMs, this.#lines),
    ]);
    let tries = 1;
    this.#doing = `try ${tries}: `;
    const found = await findSettings({
      laboratory: this.#laboratory,
      question: this.#question,
      targetMs,
      onTry: (tried) => {
        this.#write(tryLines(tried, this.#lines));
        tries += 1;
        this.#doing = `try ${tries}: `;
      },
    });
    this.#write(targetLines(this.#question, found, this.#lines));
    if (this.#options.json) this.#document(targetDocument(this.#question, found));
    return found.found === undefined ? 1 : 0;
  }

  async #sweep({ input, from, to }: Sweep): Promise<ExitCode> {
    const values = sweepValues(input, from, to, this.#options.steps);
    const doing = (index: number) => {
      const value = values[index];
      this.#doing = value === undefined ? "" : `${input.key} ${inputText(input, value)}: `;
    };
    doing(0);
    let done = 0;
    const rows = await sweep({
      laboratory: this.#laboratory,
      question: this.#question,
      input,
      values,
      onRow: () => {
        done += 1;
        doing(done);
      },
    });
    this.#write([
      ...questionLines(this.#question, this.#lines),
      "",
      ...sweepLines(input, rows, this.#lines),
    ]);
    if (this.#options.json) this.#document(sweepDocument(this.#question, input.key, rows));
    return 0;
  }

  #show({ step, virtualMs }: RunProgress): void {
    const passed = `${durationText(virtualMs)} of simulated time`;
    this.#progress.show(`${this.#doing}${step}`, passed);
  }

  /** With --json only the document is printed. */
  #write(lines: readonly string[]): void {
    if (this.#options.json) return;
    this.#progress.clear();
    this.#context.terminal.write(`${lines.join("\n")}\n`);
  }

  #document(document: object): void {
    this.#progress.clear();
    const { fitted = null } = this.#options;
    this.#context.terminal.write(`${JSON.stringify({ ...document, fitted })}\n`);
  }
}
