// The context of every command, and its errors. A command returns its exit code: 0 success, 1 the
// check failed or the answer is no, 2 error.
import type { Environment } from "../environment/environment.ts";
import type { LogLevel } from "../environment/log.ts";
import type { Terminal } from "../environment/terminal.ts";

export interface CommandContext {
  readonly environment: Environment;
  readonly terminal: Terminal;
  /** Standard input, readable once; absent when there is none. */
  readonly stdin?: () => AsyncIterable<Uint8Array>;
  /**
   * Calls the listener for each key until the returned function is called; absent without a
   * keyboard.
   */
  readonly keys?: (listener: (key: string) => void) => () => void;
  /** Aborts on Ctrl-C, SIGTERM or a closed terminal or pipe: stop, clean up, return. */
  readonly stop: AbortSignal;
  /** Of Lockstep; absent in tests. */
  readonly version?: string;
  /** Called on SIGUSR1: reopen the log files. */
  readonly onReopenLogs?: (listener: () => void) => void;
  /** Sets the log level; absent where it cannot change. */
  readonly setLogLevel?: (level: LogLevel) => void;
}

export type ExitCode = 0 | 1 | 2;

/**
 * The command cannot do what the flags ask for. The message names the problem and how to correct
 * it.
 */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly code = "USAGE";
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
