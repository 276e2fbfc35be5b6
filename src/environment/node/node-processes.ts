// Child processes of this machine. Node reaps every child it started, so none stays as a zombie;
// a child that was not started detached is killed when this process exits.
import { type ChildProcess as NodeChild, spawn as startChild } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import {
  type ChildProcess,
  ProcessError,
  type ProcessErrorCode,
  type ProcessExit,
  type Processes,
  type Signal,
  type SpawnOptions,
} from "../processes.ts";
import { errorCode } from "./error-code.ts";
import { chunksOf, noChunks } from "./node-body.ts";
import { runToEnd } from "./node-run.ts";

export const nodeProcesses: Processes = {
  pid: process.pid,
  isRoot: process.getuid?.() === 0,
  self: [process.execPath, ...process.argv.slice(1, 2)],
  variables: process.env,
  spawn,
  run: (program, args, options) =>
    runToEnd(
      () => launch(program, args, options, { ownGroup: true, stdio: ["pipe", "pipe", "pipe"] }),
      program,
      options,
    ),
  isAlive,
  kill,
};

/** Children that must not outlive us. */
const attended = new Set<NodeChild>();

process.on("exit", () => {
  for (const child of attended) child.kill("SIGKILL");
});

async function spawn(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<ChildProcess> {
  const detached = options.detached === true;
  // A detached child has a group of its own, or a Ctrl-C for us would end it too.
  const child = await launch(program, args, options, {
    ownGroup: detached || options.ownGroup === true,
    stdio: detached ? "ignore" : ["ignore", "pipe", "pipe"],
  });
  // The event loop must not wait for a child that is meant to stay.
  if (detached) child.unref();
  return {
    pid: child.pid ?? 0,
    output: outputOf(child.stdout),
    errorOutput: outputOf(child.stderr),
    exited: exitOf(child),
    kill: (signal) => {
      child.kill(signal);
    },
  };
}

interface LaunchShape {
  readonly ownGroup: boolean;
  readonly stdio: "ignore" | ("ignore" | "pipe")[];
}

/** Resolves when the program runs; Node reports a program it cannot start by an event. */
async function launch(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  shape: LaunchShape,
): Promise<NodeChild> {
  const child = startChild(program, args, {
    ...(options.directory === undefined ? {} : { cwd: options.directory }),
    env: { ...process.env, ...options.environment },
    detached: shape.ownGroup,
    stdio: shape.stdio,
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw startFailure(program, options.directory, error);
  }
  // Later errors (a signal that could not be sent) must not crash the program.
  child.on("error", () => undefined);
  if (options.detached !== true) {
    attended.add(child);
    child.once("exit", () => attended.delete(child));
  }
  return child;
}

/** Not reading it lets the child wait at its next write, as in a pipe. */
function outputOf(stream: Readable | null): AsyncIterable<Uint8Array> {
  if (stream === null) return noChunks;
  return chunksOf(stream, (error) => new ProcessError("FAILED", error.message, { cause: error }));
}

function exitOf(child: NodeChild): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

function startFailure(program: string, directory: string | undefined, error: unknown): Error {
  const codes: Readonly<Record<string, ProcessErrorCode>> = {
    ENOENT: "NOT_FOUND",
    EACCES: "PERMISSION",
    EPERM: "PERMISSION",
  };
  const code = codes[errorCode(error) ?? ""] ?? "FAILED";
  const where = directory === undefined ? "" : ` in ${directory}`;
  const advice: Readonly<Partial<Record<ProcessErrorCode, string>>> = {
    NOT_FOUND: "program not found; check that it is installed and on the PATH",
    PERMISSION: "permission denied; check that the file is executable",
  };
  const why = advice[code] ?? (error instanceof Error ? error.message : String(error));
  return new ProcessError(code, `cannot start ${program}${where}: ${why}`, { cause: error });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Not ours to signal, but there.
    return errorCode(error) === "EPERM";
  }
  return !isZombie(pid);
}

/**
 * A process that has ended but whose parent has not asked for it answers signals. As the first
 * process of a container we inherit such orphans and Node never reaps them.
 */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The state follows the name, which is in parentheses and may itself hold any character.
    return stat.charAt(stat.lastIndexOf(")") + 2) === "Z";
  } catch {
    // No /proc on this platform, or gone in the meantime: the signal's answer stands.
    return false;
  }
}

function kill(pid: number, signal: Signal): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Already gone, which is what the caller wanted.
    if (errorCode(error) === "ESRCH") return;
    const message = `cannot send ${signal} to process ${pid}`;
    throw new ProcessError("PERMISSION", message, { cause: error });
  }
}
