// What the trials of a package share: programs that are started, waited for and ended, and lines about what
// passed. A wait ends with the thing itself, or fails when it has taken longer than any machine needs.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A command that has not done its job by then never will. */
export const patienceMs = 600_000;

export class Trial {
  folder;
  #started = [];
  #totals = { passed: 0, failed: 0 };

  constructor(name) {
    this.folder = mkdtempSync(join(tmpdir(), `lockstep-${name}-`));
  }

  /** Runs the judgement, ends everything that it started, and sets the exit code. */
  async run(judge) {
    try {
      await judge();
    } catch (error) {
      this.report(false, error.message);
    } finally {
      for (const one of this.#started.toReversed()) await this.stop(one);
      rmSync(this.folder, { recursive: true, force: true });
    }
    const { passed, failed } = this.#totals;
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
    process.exitCode = failed === 0 ? 0 : 1;
  }

  report(ok, text) {
    this.#totals[ok ? "passed" : "failed"] += 1;
    process.stdout.write(`${ok ? "✓" : "✗"} ${text}\n`);
  }

  start(program, args, cwd) {
    const child = spawn(program, args.map(String), { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const chunks = [];
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    const ended = new Promise((resolve) => child.on("close", resolve));
    const output = () => Buffer.concat(chunks).toString();
    /** Fails at once if the program has ended. */
    const does = (what, holds) =>
      until(what, async () => {
        if (child.exitCode !== null) throw new Error(`${args[0]} ended: ${output()}`);
        return await holds();
      });
    const prints = (pattern) => does(`it prints ${pattern}`, () => pattern.test(output()));
    const one = { child, ended, output, does, prints };
    this.#started.push(one);
    return one;
  }

  /** Ends it as Ctrl-C does, or as the kubelet with SIGTERM, and returns its exit code. */
  async stop({ child, ended }, signal = "SIGINT") {
    if (child.exitCode === null) child.kill(signal);
    return await ended;
  }

  /** Its goals of time need an idle machine and are judged elsewhere; these need a demo that works. */
  judgeDemo(program, args, cwd) {
    const all = [...args, "up", "--once", "--no-incidents", "--no-page"];
    const { stdout, stderr } = spawnSync(program, all, {
      cwd,
      encoding: "utf8",
      timeout: patienceMs,
    });
    const goals = [/^✓ Lockstep lost 0 of \d+ requests/m, /^✓ cause found: client-throttling/m];
    const hasAll = goals.every((goal) => goal.test(stdout));
    this.report(hasAll, "lockstep up --once loses no request and finds the cause");
    if (!hasAll) process.stdout.write(stdout + stderr);
  }
}

/** Waits until it holds. A refused connection means: not yet. */
async function until(what, holds) {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    if (performance.now() > deadline) throw new Error(`10 min have passed before ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
