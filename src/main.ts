// The entry: builds the real Environment, turns signals into one stop, runs one command, and makes
// every failure a sentence. Nothing else in the program touches the process.
import { readFileSync } from "node:fs";
import type { CommandContext, ExitCode } from "./cli/command.ts";
import { runProgram } from "./cli/program.ts";
import type { LogLevel } from "./environment/log.ts";
import { nodeClock } from "./environment/node/node-clock.ts";
import { nodeEnvironment } from "./environment/node/node-environment.ts";
import { nodeStdin } from "./environment/node/node-stdin.ts";
import { stopOnRequest } from "./environment/node/node-stop.ts";
import { nodeTerminal } from "./environment/node/node-terminal.ts";
import type { CancelTimer } from "./environment/timers.ts";

// Histories, recordings, logs and saved states are for their owner: every file made from here on, by
// SQLite and by nginx too.
process.umask(0o077);

const stop = new AbortController();
stopOnRequest({ process, clock: nodeClock, stop });

let logLevel: LogLevel = "info";

const context: CommandContext = {
  environment: nodeEnvironment({ log: { level: () => logLevel } }),
  terminal: nodeTerminal(),
  stdin: nodeStdin,
  stop: stop.signal,
  onReopenLogs: (listener) => void process.on("SIGUSR1", listener),
  setLogLevel: (level) => {
    logLevel = level;
  },
};

/** How long a command may take to end what it has started when nobody takes what it says. */
const endUnheardMs = 60_000;

let outputError: NodeJS.ErrnoException | undefined;
let endAnyway: CancelTimer | undefined;
// A command whose output is not taken is stopped as by Ctrl-C, because it may have started others.
// A closed pipe (`lockstep … | head`) is the reader's way of saying enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (outputError !== undefined) return;
  outputError = error;
  if (error.code !== "EPIPE") {
    context.terminal.writeError(`lockstep: the output cannot be written: ${error.message}\n`);
  }
  stop.abort(new Error("nobody takes the output", { cause: error }));
  endAnyway = context.environment.timers.after(endUnheardMs, () =>
    process.exit(unheardCode(error)),
  );
});
process.stderr.on("error", () => {
  // There is nobody left to tell; what runs is worth more than what it says of itself.
});

try {
  process.exitCode = await runProgram(context, version(), process.argv.slice(2));
} catch (error) {
  const { aborted, reason } = stop.signal;
  const isStopped = aborted && isCausedBy(error, reason);
  context.terminal.writeError(isStopped ? "Stopped.\n" : `lockstep: ${describe(error)}\n`);
  // Whatever kept it from being done, it was not: 1 would be an answer.
  process.exitCode = 2;
}
endAnyway?.();
if (outputError !== undefined) process.exitCode = unheardCode(outputError);

function unheardCode(error: NodeJS.ErrnoException): ExitCode {
  return error.code === "EPIPE" ? 0 : 2;
}

function version(): string {
  const file: unknown = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return typeof file === "object" && file !== null && "version" in file
    ? String(file.version)
    : "unknown";
}

/** An expected failure is its message; anything else keeps its stack, for it is our bug. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? error.message : (error.stack ?? error.message);
}

function isCausedBy(error: unknown, reason: unknown): boolean {
  const isReason = error === reason;
  return isReason || (error instanceof Error && isCausedBy(error.cause, reason));
}
