// A program the lab keeps running: started, watched, and started again when it dies, sooner the
// longer it had been well. It never outlives the lab, not even one that is killed.
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import { wholeLines } from "../../environment/line-splitter.ts";
import { type ChildProcess, ProcessError, type Processes } from "../../environment/processes.ts";
import type { Timers } from "../../environment/timers.ts";

export interface SupervisedProcessOptions {
  readonly processes: Processes;
  readonly timers: Timers;
  readonly clock: Clock;
  /** `etcd`, `lab-1-server-2`. */
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** Whether it serves; asked again and again until it does. */
  readonly isReady: () => Promise<boolean>;
  /** Takes each line of its standard output. */
  readonly onLine?: (line: string) => void;
  /** Called when it dies after its start, and when it is back. */
  readonly onNews?: (news: string) => void;
}

/** A real API server takes 4 s on two busy cores. */
const readyWithinMs = 60_000;
const askEveryMs = 50;

/** After this long a user wants to know what is waited for. */
const lateAfterMs = 10_000;

/** How long it may take to end in an orderly way. */
const endWithinMs = 5_000;

/** Before it is started again: at once the first time, and never as often as to hurt. */
const restartMs = { first: 200, last: 10_000 } as const;

/** Having run for so long, its next death counts as the first. */
const wellAfterMs = 60_000;

/** The end of its output, for the error message if it cannot be started. */
const keptErrorBytes = 4_000;
const longestLineBytes = 1024 * 1024;

export class SupervisedProcess {
  readonly #options: SupervisedProcessOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #lastWords = "";
  #keeping: Promise<void> = Promise.resolve();

  /** Resolves when it serves; rejects, with what it said, if it does not. */
  static async start(options: SupervisedProcessOptions): Promise<SupervisedProcess> {
    const supervised = new SupervisedProcess(options);
    const child = await supervised.#spawn();
    try {
      await supervised.#ready(child);
    } catch (error) {
      await supervised.stop();
      throw error;
    }
    supervised.#keeping = supervised.#keep(child);
    return supervised;
  }

  private constructor(options: SupervisedProcessOptions) {
    this.#options = options;
  }

  /** Of the present one; undefined while none runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Asks it to end, then makes it. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`${this.#options.name} is being stopped`));
    const child = this.#child;
    if (child !== undefined) {
      child.kill("SIGTERM");
      const force = this.#options.timers.after(endWithinMs, () => child.kill("SIGKILL"));
      await child.exited;
      force();
    }
    await this.#keeping;
  }

  async #keep(first: ChildProcess): Promise<void> {
    const { clock, timers, name } = this.#options;
    const { signal } = this.#stopping;
    let child: ChildProcess | undefined = first;
    let pauseMs: number = restartMs.first;
    while (!signal.aborted) {
      const startedAt = clock.monotonicMs();
      const end = child === undefined ? undefined : await child.exited;
      if (signal.aborted) return;
      this.#child = undefined;
      if (elapsedMs(startedAt, clock.monotonicMs()) >= wellAfterMs) pauseMs = restartMs.first;
      if (end !== undefined) {
        this.#tell(`${name} ended (${end.signal ?? `exit code ${end.code}`}); it is started again`);
      }
      // The loop's own condition sees the abort.
      await timers.sleep(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, restartMs.last);
      child = await this.#again();
    }
  }

  async #again(): Promise<ChildProcess | undefined> {
    const { name } = this.#options;
    try {
      const child = await this.#spawn();
      await this.#ready(child);
      this.#tell(`${name} is back (pid ${child.pid})`);
      return child;
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined;
      this.#tell(error instanceof Error ? error.message : String(error));
      return this.#child;
    }
  }

  async #spawn(): Promise<ChildProcess> {
    const child = await spawnAttended(this.#options.processes, this.#options.command);
    this.#child = child;
    this.#lastWords = "";
    if (this.#stopping.signal.aborted) child.kill("SIGKILL");
    // Both end with the process and never reject: a broken pipe is its end too.
    void this.#readOutput(child);
    void this.#readErrors(child);
    return child;
  }

  async #ready(child: ChildProcess): Promise<void> {
    const { name, isReady, clock, timers } = this.#options;
    const { signal } = this.#stopping;
    const startedAt = clock.monotonicMs();
    let isToldLate = false;
    let hasEnded = false;
    void child.exited.then(() => {
      hasEnded = true;
    });
    while (!(await isReady())) {
      if (hasEnded) throw new ProcessError("FAILED", `${name} could not start${this.#said()}`);
      const waitedMs = elapsedMs(startedAt, clock.monotonicMs());
      if (waitedMs > lateAfterMs && !isToldLate) {
        isToldLate = true;
        this.#tell(`${name} does not serve yet; it is waited for${this.#said()}`);
      }
      if (waitedMs > readyWithinMs) {
        const message = `${name} did not serve within ${readyWithinMs / 1000} s${this.#said()}`;
        throw new ProcessError("TIMEOUT", message);
      }
      await timers.sleep(askEveryMs, signal);
    }
  }

  #said(): string {
    const words = this.#lastWords.trim();
    return words === "" ? "" : `. It said:\n${words}`;
  }

  async #readOutput(child: ChildProcess): Promise<void> {
    const { onLine } = this.#options;
    try {
      for await (const { text } of wholeLines(child.output, longestLineBytes)) {
        onLine?.(text);
      }
    } catch (error) {
      this.#lastWords += String(error);
    }
  }

  async #readErrors(child: ChildProcess): Promise<void> {
    try {
      for await (const chunk of child.errorOutput) {
        const text = this.#lastWords + Buffer.from(chunk).toString("utf8");
        this.#lastWords = text.slice(-keptErrorBytes);
      }
    } catch (error) {
      this.#lastWords += String(error);
    }
  }

  #tell(news: string): void {
    this.#options.onNews?.(news);
  }
}

/**
 * In a group of its own, so that we end it in our order; and with the kernel's promise that it dies
 * with us, where there is a program to ask for that (util-linux, on every Debian).
 */
async function spawnAttended(
  processes: Processes,
  command: readonly [string, ...string[]],
): Promise<ChildProcess> {
  const [program, ...args] = command;
  const options = { ownGroup: true };
  try {
    return await processes.spawn("setpriv", ["--pdeathsig", "KILL", program, ...args], options);
  } catch (error) {
    if (!(error instanceof ProcessError) || error.code !== "NOT_FOUND") throw error;
  }
  return processes.spawn(program, args, options);
}
