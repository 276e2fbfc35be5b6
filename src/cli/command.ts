// What every command gets, and how it fails. A command returns its exit code: 0 done, 1 the answer
// is no, 2 it could not be done as asked.
import type { Environment } from "../environment/environment.ts";
import type { LogLevel } from "../environment/log.ts";
import type { Terminal } from "../environment/terminal.ts";

export interface CommandContext {
  readonly environment: Environment;
  readonly terminal: Terminal;
  /** What is piped into this process, to be read once; absent where nothing can be. */
  readonly stdin?: () => AsyncIterable<Uint8Array>;
  /** Hands over each key that is pressed, until what it returns is called; absent without a keyboard. */
  readonly keys?: (listener: (key: string) => void) => () => void;
  /** Aborts on Ctrl-C, SIGTERM or a closed terminal or pipe: stop, clean up, return. */
  readonly stop: AbortSignal;
  /** Calls back each time this process is asked to open log files anew (SIGUSR1). */
  readonly onReopenLogs?: (listener: () => void) => void;
  /** From now on the log shows this level and above; where the log cannot change it is absent. */
  readonly setLogLevel?: (level: LogLevel) => void;
}

export type ExitCode = 0 | 1 | 2;

/** The caller asked for something that cannot be: say what, and what would be right. */
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
