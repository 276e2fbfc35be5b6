// Answers the what-if questions of all pages, one after the other, in the lab's thread. The newest question
// of a page replaces its older one; a computation that no page waits for is aborted. Answers are kept.

import { type Clock, elapsedMs, type MonotonicMs } from "../../../../environment/clock.ts";
import { durationText } from "../../../../environment/duration-text.ts";
import type { LabWorker } from "../../../../lab/thread/lab-worker.ts";
import type { Question } from "../../../../lab/whatif/question.ts";
import type { WhatIfAnswer, WhatIfInputs, WhatIfQuestion } from "../../../../server/api.ts";
import { UsageError } from "../../../command.ts";
import { whatIfAnswer, whatIfInputs, whatIfQuestion } from "./whatif-answer.ts";

export interface WhatIfServiceOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly worker: Pick<LabWorker, "run" | "stop">;
}

interface Wanted {
  readonly key: string;
  readonly question: Question;
  readonly askedAt: MonotonicMs;
}

interface Running {
  readonly key: string;
  readonly abort: AbortController;
  progress: string;
}

/** An answer has some kilobytes. */
const answersMax = 100;

/** More pages wait until one of these has its answer. */
const pagesMax = 16;

/** A page asks twice a second while it waits; one that does not is gone. */
const pageGoneMs = 10_000;

const waiting = "waiting for the answer to another page";

export class WhatIfService {
  readonly #options: WhatIfServiceOptions;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By question, oldest first. */
  readonly #answers = new Map<string, WhatIfAnswer>();
  /** By page, in the order in which their questions came. */
  readonly #wanted = new Map<string, Wanted>();
  readonly #stopping = new AbortController();
  #running: Running | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: WhatIfServiceOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  inputs(): WhatIfInputs {
    return whatIfInputs();
  }

  /** Throws `WhatIfValueError`. The answer has no figures yet while it is computed: ask again. */
  ask(asked: WhatIfQuestion): WhatIfAnswer {
    const question = readQuestion(asked);
    if (typeof question === "string") return refused(question);
    const { page = "" } = asked;
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known !== undefined) {
      if (this.#wanted.delete(page)) this.#next();
      return known;
    }
    this.#want(page, { key, question, askedAt: this.#clock.monotonicMs() });
    this.#next();
    const running = this.#running;
    return pending(running?.key === key ? running.progress : waiting);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the page is closing"));
    await this.#options.worker.stop();
    await this.#work;
  }

  #want(page: string, wanted: Wanted): void {
    for (const [other, { askedAt }] of this.#wanted) {
      if (elapsedMs(askedAt, wanted.askedAt) > pageGoneMs) this.#wanted.delete(other);
    }
    // The same question keeps its place.
    if (this.#wanted.get(page)?.key !== wanted.key) this.#wanted.delete(page);
    if (this.#wanted.has(page) || this.#wanted.size < pagesMax) this.#wanted.set(page, wanted);
  }

  /** Starts the oldest question, unless the running one is still wanted. */
  #next(): void {
    const all = [...this.#wanted.values()];
    const running = this.#running;
    if (running !== undefined) {
      if (!all.some(({ key }) => key === running.key)) {
        running.abort.abort(new Error("no page waits for this answer"));
      }
      return;
    }
    const [next] = all;
    if (next === undefined || this.#stopping.signal.aborted) return;
    this.#running = { key: next.key, abort: new AbortController(), progress: "starting" };
    // It never rejects.
    this.#work = this.#compute(next, this.#running);
  }

  async #compute({ key, question }: Wanted, running: Running): Promise<void> {
    const { signal } = running.abort;
    try {
      const prediction = await this.#options.worker.run(
        { type: "prediction", question },
        {
          signal,
          onProgress: ({ step, stageMs }) => {
            running.progress = `${step}: ${durationText(stageMs)} of simulated time`;
          },
        },
      );
      this.#keep(key, whatIfAnswer(prediction));
    } catch (error) {
      if (!signal.aborted && !this.#stopping.signal.aborted) {
        this.#keep(key, refused(`The simulation failed: ${messageOf(error)}`));
      }
    }
    this.#running = undefined;
    this.#next();
  }

  #keep(key: string, answer: WhatIfAnswer): void {
    this.#answers.set(key, answer);
    for (const [page, wanted] of this.#wanted) if (wanted.key === key) this.#wanted.delete(page);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= answersMax) break;
      this.#answers.delete(oldest);
    }
  }
}

/** The question, or the sentence why its values contradict each other. */
function readQuestion(asked: WhatIfQuestion): Question | string {
  try {
    return whatIfQuestion(asked);
  } catch (error) {
    if (error instanceof UsageError) return error.message.replaceAll("\n", " ");
    throw error;
  }
}

function pending(progress: string): WhatIfAnswer {
  return { figures: null, progress, charts: [], notes: [], flags: "" };
}

/** An answer without figures. */
function refused(note: string): WhatIfAnswer {
  return { figures: [], progress: null, charts: [], notes: [note], flags: "" };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
