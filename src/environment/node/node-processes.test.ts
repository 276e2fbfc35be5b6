// Real child processes: their output, their end, and that none is left behind.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ProcessError } from "../processes.ts";
import { nodeFiles } from "./node-files.ts";
import { nodeProcesses } from "./node-processes.ts";
import { nodeTimers } from "./node-timers.ts";

const timeoutMs = 20_000;

describe("run", () => {
  it("collects both outputs, feeds the input and gives the exit code", async () => {
    const script = 'read line; echo "got $line, $NOTE"; echo "oh" >&2; exit 3';
    const result = await nodeProcesses.run("sh", ["-c", script], {
      input: "hello\n",
      environment: { NOTE: "noted" },
      timeoutMs,
    });
    expect(result).toEqual({
      code: 3,
      signal: null,
      output: "got hello, noted\n",
      errorOutput: "oh\n",
    });
  });

  it("gives the signal that ended the program", async () => {
    const result = await nodeProcesses.run("sh", ["-c", "kill -TERM $$"], { timeoutMs });
    expect(result).toEqual({ code: null, signal: "SIGTERM", output: "", errorOutput: "" });
  });

  it("kills the program and what it started when the time is over", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-processes-");
    const file = `${directory}/pid`;
    const script = "sleep 600 & echo $! > $FILE; wait";
    const error = await failureOf(
      nodeProcesses.run("sh", ["-c", script], { environment: { FILE: file }, timeoutMs: 300 }),
    );
    expect({ code: error.code, message: error.message }).toEqual({
      code: "TIMEOUT",
      message: "sh did not finish within 300 ms and was killed",
    });
    await untilGone(Number(readFileSync(file, "utf8")));
    await nodeFiles.remove(directory);
  });

  it("kills the program when the signal aborts", async () => {
    const controller = new AbortController();
    const reason = new Error("not wanted");
    const { signal } = controller;
    const run = failureOf(nodeProcesses.run("sleep", ["600"], { timeoutMs, signal }));
    nodeTimers.after(50, () => controller.abort(reason));
    const error = await run;
    expect({ code: error.code, cause: error.cause }).toEqual({ code: "ABORTED", cause: reason });
  });

  it("does not wait for something the program left behind with its output open", async () => {
    const script = "sleep 600 & echo $!";
    const result = await nodeProcesses.run("sh", ["-c", script], { timeoutMs });
    expect(result.code).toBe(0);
    const left = Number(result.output);
    expect(nodeProcesses.isAlive(left)).toBe(true);
    nodeProcesses.kill(left, "SIGKILL");
    await untilGone(left);
  });

  it("drops output beyond its bound and lets the program go on", async () => {
    const script = "head -c 20000000 /dev/zero; echo done >&2";
    const result = await nodeProcesses.run("sh", ["-c", script], { timeoutMs });
    expect(result.output.length).toBe(16 * 1024 * 1024);
    expect(result.errorOutput).toBe("done\n");
  });

  it("survives a program that does not read its input", async () => {
    const input = "x".repeat(1_000_000);
    const result = await nodeProcesses.run("true", [], { input, timeoutMs });
    expect(result.code).toBe(0);
  });

  it("says why it cannot start a program", async () => {
    const directory = await nodeFiles.temporaryDirectory("node-processes-");
    const plain = `${directory}/plain`;
    await nodeFiles.write(plain, "not a program", { mode: 0o600 });
    const absent = await failureOf(nodeProcesses.run("/no/such/program", [], { timeoutMs }));
    const refused = await failureOf(nodeProcesses.run(plain, [], { timeoutMs }));
    await nodeFiles.remove(directory);
    expect([absent, refused].map(({ code, message }) => ({ code, message }))).toEqual([
      {
        code: "NOT_FOUND",
        message:
          "cannot start /no/such/program: program not found; check that it is installed and on the PATH",
      },
      {
        code: "PERMISSION",
        message: `cannot start ${plain}: permission denied; check that the file is executable`,
      },
    ]);
  });
});

describe("spawn", () => {
  it("gives the output as it comes and the exit at the end", async () => {
    const child = await nodeProcesses.spawn("sh", ["-c", "echo one; echo two"]);
    const chunks: Uint8Array[] = [];
    for await (const chunk of child.output) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("one\ntwo\n");
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  it("gives a child that can be killed and is then gone", async () => {
    const child = await nodeProcesses.spawn("sleep", ["600"]);
    expect(nodeProcesses.isAlive(child.pid)).toBe(true);
    child.kill("SIGTERM");
    expect(await child.exited).toEqual({ code: null, signal: "SIGTERM" });
    expect(nodeProcesses.isAlive(child.pid)).toBe(false);
    child.kill("SIGTERM");
    nodeProcesses.kill(child.pid, "SIGTERM");
  });

  it("puts a detached child into a group of its own", async () => {
    const child = await nodeProcesses.spawn("sleep", ["600"], { detached: true });
    const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
    const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
    expect(group).toBe(child.pid);
    child.kill("SIGKILL");
    await child.exited;
  });
});

describe("isAlive", () => {
  it("takes a process that has ended but was not reaped for dead", async () => {
    const script = "sleep 0.1 & echo $!; exec sleep 600";
    const parent = await nodeProcesses.spawn("sh", ["-c", script]);
    const first = await parent.output[Symbol.asyncIterator]().next();
    const zombie = Number(Buffer.from(first.value ?? []).toString());
    await untilGone(zombie);
    expect(readFileSync(`/proc/${zombie}/stat`, "utf8")).toContain(" Z ");
    parent.kill("SIGKILL");
    await parent.exited;
  });
});

async function untilGone(pid: number): Promise<void> {
  while (nodeProcesses.isAlive(pid)) await nodeTimers.sleep(10);
}

async function failureOf(attempt: Promise<unknown>): Promise<ProcessError> {
  const outcome = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof ProcessError) return outcome;
  throw new Error("expected a ProcessError", { cause: outcome });
}
