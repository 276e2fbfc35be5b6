// Answers a question in the way it was asked: a prediction, the search for a target, or a sweep. The
// progress goes where errors go, so that a pipe gets the answer only; Ctrl-C ends the simulation.
import { durationText } from "../../../environment/duration-text.ts";
import { type Input, inputText } from "../../../lab/whatif/inputs.ts";
import { Laboratory } from "../../../lab/whatif/laboratory.ts";
import type { RunProgress } from "../../../lab/whatif/publishing-run.ts";
import type { Question } from "../../../lab/whatif/question.ts";
import { sweep, sweepValues } from "../../../lab/whatif/sweep.ts";
import { findSettings } from "../../../lab/whatif/target.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { type LineOptions, predictionLines } from "./prediction-lines.ts";
import { questionLines } from "./question-lines.ts";
import { sweepLines } from "./sweep-lines.ts";
import { targetHead, targetLines, tryLines } from "./target-lines.ts";
import { predictionDocument, sweepDocument, targetDocument } from "./whatif-document.ts";

export interface Sweep {
  readonly input: Input;
  readonly from: number;
  readonly to: number;
}

export interface AnswerOptions {
  readonly json: boolean;
  readonly steps: number;
  readonly targetMs?: number;
  readonly sweep?: Sweep;
  /** What of the cluster was chosen to fit a write-up. */
  readonly fitted?: string;
  /** Nothing was said about the cluster: this incident's was taken. */
  readonly example?: string;
}

/** Tables gain nothing from more, and need that much. */
const widthMax = 100;
const widthMin = 80;

export async function answer(
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
    const width = Math.max(widthMin, Math.min(terminal.columns, widthMax));
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

  /** Nothing but the document when one is asked for. */
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
