// One real program that a test started: its output goes to a file, and it never outlives the test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface RealProcessOptions {
  /** `kube-apiserver`, as its log file is called. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its log goes. */
  readonly folder: string;
  /**
   * As a daemon has it. Linux shares processor time between sessions first, so beside a daemon a
   * program of this session would get another share.
   */
  readonly hasOwnSession?: boolean;
  /** What ends it; SIGTERM unless given. */
  readonly stopSignal?: NodeJS.Signals;
}

/** The time that a program may take to end after SIGTERM; the API server waits for its watchers. */
const patienceMs = 10_000;
const readyWithinMs = 120_000;
const askAgainAfterMs = 100;
const shownLines = 15;

const running = new Set<RealProcess>();

process.once("exit", () => {
  for (const one of running) one.kill();
});

export class RealProcess {
  readonly logFile: string;
  readonly #options: RealProcessOptions;
  #child: ChildProcess;

  constructor(options: RealProcessOptions) {
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
    this.#child = this.#spawn();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  log(): string {
    return readFileSync(this.logFile, "utf8");
  }

  /** Resolves once `isReady` does so with true; a program that ended before is an error. */
  async ready(isReady: () => Promise<boolean>): Promise<void> {
    const { name } = this.#options;
    const deadline = performance.now() + readyWithinMs;
    while (!(await isReady().catch(() => false))) {
      const late = performance.now() > deadline;
      if (late || !this.isRunning) {
        const end = this.log().trimEnd().split("\n").slice(-shownLines).join("\n");
        throw new Error(`${name} ${late ? "is not ready in time" : "has ended"}:\n${end}`);
      }
      await sleep(askAgainAfterMs);
    }
  }

  /** The same program again, after it was killed or stopped. */
  restart(): void {
    if (this.isRunning) throw new Error(`${this.#options.name} is still running`);
    this.#child = this.#spawn();
  }

  /** Silently, as a machine that loses power. */
  kill(): void {
    this.#child.kill("SIGKILL");
    running.delete(this);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    if (this.isRunning) {
      const exited = once(this.#child, "exit");
      this.#child.kill(this.#options.stopSignal ?? "SIGTERM");
      const late = setTimeout(() => this.#child.kill("SIGKILL"), patienceMs);
      await exited;
      clearTimeout(late);
    }
    running.delete(this);
  }

  #spawn(): ChildProcess {
    const log = openSync(this.logFile, "a");
    const child = spawn(this.#options.program, [...this.#options.args], {
      stdio: ["ignore", log, log],
      detached: this.#options.hasOwnSession === true,
    });
    closeSync(log);
    child.on("error", () => undefined);
    running.add(this);
    return child;
  }
}
