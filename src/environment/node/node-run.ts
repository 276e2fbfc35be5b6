// One program from its start to its end, with its output collected. The child leads a process group
// of its own, so that running out of time or being aborted also ends what it started in turn.
import type { ChildProcess as NodeChild } from "node:child_process";
import type { Readable } from "node:stream";
import { ProcessError, type RunOptions, type RunResult } from "../processes.ts";
import { errorCode } from "./error-code.ts";
import { nodeTimers } from "./node-timers.ts";

/** Of each stream; the rest is read and dropped, so that the child can continue. */
const longestOutputBytes = 16 * 1024 * 1024;

/** How long output may still come after the exit, from something the child left behind. */
const outputGraceMs = 500;

export async function runToEnd(
  start: () => Promise<NodeChild>,
  program: string,
  options: RunOptions,
): Promise<RunResult> {
  if (options.signal?.aborted) throw abortedRun(program, options.signal);
  const child = await start();
  const output = collect(child.stdout);
  const errorOutput = collect(child.stderr);
  feed(child, options.input);
  try {
    const exit = await ended(child, program, options);
    return { ...exit, output: output(), errorOutput: errorOutput() };
  } finally {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** Resolves with the exit once the output is complete; rejects when out of time or aborted. */
function ended(
  child: NodeChild,
  program: string,
  options: RunOptions,
): Promise<{ code: number | null; signal: string | null }> {
  return new Promise((resolve, reject) => {
    let cancelGrace = (): void => undefined;
    const settle = (): void => {
      cancelTimeout();
      cancelGrace();
      options.signal?.removeEventListener("abort", onAbort);
    };
    const fail = (error: ProcessError): void => {
      settle();
      killGroup(child);
      reject(error);
    };
    const onAbort = (): void => {
      if (options.signal !== undefined) fail(abortedRun(program, options.signal));
    };
    const cancelTimeout = nodeTimers.after(options.timeoutMs, () => {
      const message = `${program} did not finish within ${options.timeoutMs} ms and was killed`;
      fail(new ProcessError("TIMEOUT", message));
    });
    const finish = (code: number | null, signal: string | null): void => {
      settle();
      resolve({ code, signal });
    };
    options.signal?.addEventListener("abort", onAbort, { once: true });
    child.once("exit", (code, signal) => {
      cancelGrace = nodeTimers.after(outputGraceMs, () => finish(code, signal));
    });
    child.once("close", finish);
    // It may have been aborted while the program was starting.
    if (options.signal?.aborted) onAbort();
  });
}

function collect(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    const kept = chunk.subarray(0, longestOutputBytes - bytes);
    bytes += kept.length;
    if (kept.length > 0) chunks.push(kept);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function feed(child: NodeChild, input: Uint8Array | string | undefined): void {
  // A program that does not read its input closes it; its exit code says whether that was wrong.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input);
}

function killGroup(child: NodeChild): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // The whole group has already ended.
    if (errorCode(error) !== "ESRCH") throw error;
  }
}

function abortedRun(program: string, signal: AbortSignal): ProcessError {
  return new ProcessError("ABORTED", `the run of ${program} was aborted`, { cause: signal.reason });
}
