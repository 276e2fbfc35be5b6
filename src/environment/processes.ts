// This process and the ones it starts. A child outlives us only if it was started detached.

export type Signal = "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGHUP" | "SIGQUIT" | "SIGUSR1";

export interface SpawnOptions {
  /** Added to the variables of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** The child goes on when we end; its output is not collected. */
  readonly detached?: boolean;
  /** A Ctrl-C meant for us does not reach the child: we end it, in our order. */
  readonly ownGroup?: boolean;
}

export interface ProcessExit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ChildProcess {
  readonly pid: number;
  /** Not reading it makes the child wait at its next write once the pipe is full. */
  readonly output: AsyncIterable<Uint8Array>;
  readonly errorOutput: AsyncIterable<Uint8Array>;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  kill(signal: Signal): void;
}

export interface RunOptions extends SpawnOptions {
  readonly input?: Uint8Array | string;
  /** The child is killed and the run fails after this time. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface RunResult extends ProcessExit {
  readonly output: string;
  readonly errorOutput: string;
}

export interface Processes {
  readonly pid: number;
  /** Whether it may do everything: programs that it starts may then change to another user. */
  readonly isRoot: boolean;
  /** How this program is run, without its arguments: to start another one of it. */
  readonly self: readonly [program: string, ...args: string[]];
  /** The environment variables of this process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Rejects with a `ProcessError` when the program cannot be started. */
  spawn(program: string, args: readonly string[], options?: SpawnOptions): Promise<ChildProcess>;
  /** Runs to the end and collects the output (at most 16 MiB of each stream). */
  run(program: string, args: readonly string[], options: RunOptions): Promise<RunResult>;
  isAlive(pid: number): boolean;
  kill(pid: number, signal: Signal): void;
}

export type ProcessErrorCode = "NOT_FOUND" | "PERMISSION" | "TIMEOUT" | "ABORTED" | "FAILED";

export class ProcessError extends Error {
  override readonly name = "ProcessError";
  readonly code: ProcessErrorCode;

  constructor(code: ProcessErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
