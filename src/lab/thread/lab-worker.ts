// The owner of a lab thread: gives it one job at a time and returns the result. The thread is started for
// the first job and kept. An aborted job ends soon; a thread that ends by itself fails its job, and the
// next job gets a new thread.
import { assert } from "../../environment/assert.ts";
import type { StageProgress } from "../incidents/stage.ts";
import type { LabAnswer, LabJob, LabPort, LabResult, StartLabThread } from "./lab-job.ts";
import { startLabThread } from "./start-lab-thread.ts";

export interface LabWorkerOptions {
  readonly startThread?: StartLabThread;
}

export interface JobOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: StageProgress) => void;
}

/** The job failed, or its thread ended. */
export class LabJobError extends Error {
  override readonly name = "LabJobError";
  readonly code = "LAB_JOB";
}

interface Running {
  readonly onProgress: JobOptions["onProgress"];
  readonly resolve: (result: LabResult<LabJob>) => void;
  readonly reject: (error: unknown) => void;
}

export class LabWorker {
  readonly #startThread: StartLabThread;
  #port: LabPort | undefined;
  #running: Running | undefined;
  #isStopped = false;

  constructor({ startThread = startLabThread }: LabWorkerOptions = {}) {
    this.#startThread = startThread;
  }

  /** Rejects with the reason of the signal when it aborts, once the thread has ended the job. */
  async run<Job extends LabJob>(job: Job, options: JobOptions): Promise<LabResult<Job>> {
    const { signal, onProgress } = options;
    signal.throwIfAborted();
    assert(this.#running === undefined, "one job at a time");
    assert(!this.#isStopped, "a stopped worker takes no job");
    const port = this.#port ?? this.#open();
    const abort = (): void => port.post({ type: "abort" });
    try {
      return await new Promise<LabResult<Job>>((resolve, reject) => {
        // The thread answers with the result of the job it was given.
        const done = resolve as Running["resolve"];
        this.#running = { onProgress, resolve: done, reject };
        port.post({ type: "run", job });
        signal.addEventListener("abort", abort, { once: true });
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Ends the thread and its job at once. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const port = this.#port;
    this.#ended("it was stopped");
    await port?.end();
  }

  #open(): LabPort {
    const port = this.#startThread({
      onAnswer: (answer) => this.#take(answer),
      onEnded: (why) => {
        if (this.#port === port) this.#ended(why);
      },
    });
    this.#port = port;
    return port;
  }

  #take(answer: LabAnswer): void {
    const running = this.#running;
    if (running === undefined) return;
    if (answer.type === "progress") {
      running.onProgress?.(answer);
      return;
    }
    this.#running = undefined;
    if (answer.type === "done") running.resolve(answer.result);
    else running.reject(new LabJobError(answer.message));
  }

  #ended(why: string): void {
    this.#port = undefined;
    const running = this.#running;
    this.#running = undefined;
    running?.reject(new LabJobError(`the simulation ended early: ${why}`));
  }
}
