// npm is asked to stop: the signal arrives at its child, and nothing is left behind.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { isRunning } from "./is-running.ts";

/** Long enough for a busy machine to start and stop it. */
const patienceMs = 120_000;

const started: Started[] = [];
afterEach(() => {
  for (const one of started.splice(0)) one.killAll();
});

it(
  "SIGTERM to npm start stops what it runs, whose exit code is npm's",
  async () => {
    const npm = new Started("npm", "start", "--", "--no-incidents", "--no-proxies");
    await npm.says("cluster alpha at");
    const below = npm.below();
    expect(await npm.ended("SIGTERM")).toBe(0);
    expect(npm.output).toMatch(/Stopped\. Everything was removed\.\n$/);
    expect(below.filter(isRunning)).toEqual([]);
  },
  patienceMs,
);

it(
  "SIGTERM to npx stops what it runs",
  async () => {
    const npx = new Started("npx", "lockstep", "lab", "--json");
    await npx.says("kubeconfig");
    const below = npx.below();
    await npx.ended("SIGTERM");
    await expect.poll(() => below.filter(isRunning), { timeout: patienceMs }).toEqual([]);
    expect(npx.output).toMatch(/The lab has stopped\.\n$/);
  },
  patienceMs,
);

class Started {
  readonly #child: ChildProcess;
  /** Resolves when it has ended, and nothing that it started writes any more. */
  readonly #closed: Promise<unknown>;
  output = "";

  constructor(program: string, ...args: readonly string[]) {
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#closed = once(this.#child, "close");
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString("utf8");
      });
    }
    started.push(this);
  }

  async says(text: string): Promise<void> {
    await expect.poll(() => this.output, { timeout: patienceMs }).toContain(text);
  }

  /** Every process that it, or one of these, has started. */
  below(parents: readonly (number | undefined)[] = [this.#child.pid]): readonly number[] {
    const children = runningProcesses()
      .filter(({ parent }) => parents.includes(parent))
      .map(({ pid }) => pid);
    return children.length === 0 ? [] : [...children, ...this.below(children)];
  }

  async ended(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    await this.#closed;
    return this.#child.exitCode;
  }

  /** After a test that failed. */
  killAll(): void {
    for (const pid of this.below()) process.kill(pid, "SIGKILL");
    this.#child.kill("SIGKILL");
  }
}

function runningProcesses(): readonly { readonly pid: number; readonly parent: number }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, parent] =
          /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8")) ?? [];
        return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}
