// The entry: builds the real Environment, turns signals into one stop, runs one command, and makes
// every failure a sentence. Nothing else in the program touches the process.
import { readFileSync } from "node:fs";
import type { CommandContext } from "./cli/command.ts";
import { runCommandLine } from "./cli/command-line.ts";
import { commandsFor } from "./cli/command-list.ts";
import type { LogLevel } from "./environment/log.ts";
import { nodeClock } from "./environment/node/node-clock.ts";
import { nodeEnvironment } from "./environment/node/node-environment.ts";
import { keepPausesShort } from "./environment/node/node-heap.ts";
import { nodeKeys } from "./environment/node/node-keys.ts";
import { nodeStdin } from "./environment/node/node-stdin.ts";
import { stopOnRequest } from "./environment/node/node-stop.ts";
import { nodeTerminal } from "./environment/node/node-terminal.ts";

// Histories, recordings, logs and saved states are for their owner: every file made from here on, by
// SQLite and by nginx too.
process.umask(0o077);

const stop = new AbortController();
const requests = stopOnRequest({ process, clock: nodeClock, stop });

let logLevel: LogLevel = "info";

const context: CommandContext = {
  environment: nodeEnvironment({ log: { level: () => logLevel } }),
  terminal: nodeTerminal(),
  stdin: nodeStdin,
  keys: nodeKeys,
  stop: stop.signal,
  onReopenLogs: (listener) => void process.on("SIGUSR1", listener),
  setLogLevel: (level) => {
    logLevel = level;
  },
};

try {
  const args = process.argv.slice(2);
  // Before its modules are loaded: they are many.
  if (args[0] === "ingress") keepPausesShort();
  const commands = await commandsFor(args);
  process.exitCode = await runCommandLine(context, version(), args, commands);
} catch (error) {
  const { aborted, reason } = stop.signal;
  const isStopped = aborted && isCausedBy(error, reason);
  context.terminal.writeError(isStopped ? "Stopped.\n" : `lockstep: ${describe(error)}\n`);
  // Exit 2: the command failed. 1 means that it ran and the answer is no.
  process.exitCode = 2;
}
requests.commandReturned();
// The error of a last line comes later.
process.on("exit", () => {
  process.exitCode = requests.exitCode ?? process.exitCode;
});

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
