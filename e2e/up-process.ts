// A `lockstep up` started as a user would start it, watched line by line, and what it may leave.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class UpProcess {
  readonly #child: ChildProcess;
  /** Resolves when it has ended and all that it wrote has been read. */
  readonly #closed: Promise<unknown>;
  #output = "";
  #errors = "";

  static start(...args: readonly string[]): UpProcess {
    return new UpProcess(process.execPath, ["bin/lockstep.mjs", "up", ...args]);
  }

  /** Of the checkout in this folder, which `npm start` sets up first. */
  static startWithNpm(cwd: string, ...args: readonly string[]): UpProcess {
    return new UpProcess("npm", ["start", "--", ...args], cwd);
  }

  private constructor(program: string, args: readonly string[], cwd?: string) {
    this.#child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    this.#closed = once(this.#child, "close");
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      this.#output += chunk.toString("utf8");
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString("utf8");
    });
  }

  get output(): string {
    return this.#output;
  }

  get errors(): string {
    return this.#errors;
  }

  /** The folder of this run, unless npm started it; undefined before it is made and after it is removed. */
  get folder(): string | undefined {
    const name = readdirSync(tmpdir()).find((one) =>
      one.startsWith(`lockstep-up-${this.#child.pid}-`),
    );
    return name === undefined ? undefined : join(tmpdir(), name);
  }

  /** The address of its page, which is the first line; without a slash at the end. */
  async pageUrl(): Promise<string> {
    await this.says(/^Page: \S+\n/);
    const [, url = ""] = /^Page: (\S+)\/\n/.exec(this.#output) ?? [];
    return url;
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when the output from there on has this; rejects when the process ends before. */
  async says(text: string | RegExp, from = 0): Promise<void> {
    while (this.#output.slice(from).search(text) < 0) {
      if (this.#isOver) {
        throw new Error(`ended without saying ${text}:\n${this.#output}${this.#errors}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Sends the signal, if any, and resolves to the exit code. */
  async ended(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined && !this.#isOver) this.#child.kill(signal);
    await this.#closed;
    return this.#child.exitCode;
  }
}

/** Command lines of processes that name this folder. */
export function processesOf(folder: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const path = `/proc/${pid}/cmdline`;
      try {
        const command = existsSync(path) ? readFileSync(path, "utf8").replaceAll("\0", " ") : "";
        return command.includes(folder) ? [`${pid} ${command}`] : [];
      } catch {
        // It ended while we looked.
        return [];
      }
    });
}

/** Undefined when none runs with this folder. */
export function nginxMaster(folder: string): number | undefined {
  const found = processesOf(`${folder} `).find((one) => one.includes("master process"));
  return found === undefined ? undefined : Number(found.split(" ")[0]);
}
