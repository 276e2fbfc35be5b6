// The entry: builds the real Environment, turns signals into one stop, runs one command, and makes
// every failure a sentence. Nothing else in the program touches the process.
import { readFileSync } from "node:fs";
import { type CommandContext, UsageError } from "./cli/command.ts";
import { runProgram } from "./cli/program.ts";
import type { LogLevel } from "./environment/log.ts";
import { nodeEnvironment } from "./environment/node/node-environment.ts";
import { nodeStdin } from "./environment/node/node-stdin.ts";
import { nodeTerminal } from "./environment/node/node-terminal.ts";
import { CredentialsError } from "./kube/credentials/credentials.ts";
import { NginxOptionsError } from "./outputs/nginx/nginx-servers.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    // Asked twice: whoever waits for us has no more patience.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(`stopped by ${signal}`));
  });
}
// A closed pipe (`lockstep … | head`) is the reader's way of saying enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

let logLevel: LogLevel = "info";

const context: CommandContext = {
  environment: nodeEnvironment({ log: { level: () => logLevel } }),
  terminal: nodeTerminal(),
  stdin: nodeStdin,
  stop: stop.signal,
  setLogLevel: (level) => {
    logLevel = level;
  },
};

try {
  process.exitCode = await runProgram(context, version(), process.argv.slice(2));
} catch (error) {
  context.terminal.writeError(`lockstep: ${describe(error)}\n`);
  // A kubeconfig or context that is not there was named by the caller, or should have been.
  const isAskedWrongly = [UsageError, CredentialsError, NginxOptionsError].some(
    (kind) => error instanceof kind,
  );
  process.exitCode = isAskedWrongly ? 2 : 1;
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
