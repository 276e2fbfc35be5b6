// The real nginx of a live stock proxy: its folder, its check, its start and its end. Invariant: at
// most one runs per folder, and after `stop` neither a process nor the folder is left.
import { assert } from "../../../environment/assert.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { ChildProcess, ProcessExit } from "../../../environment/processes.ts";
import { RefusedConfigurationError } from "../stock-plane.ts";
import { luaModule, luaModuleName } from "./nginx-lua.ts";

export interface NginxProcessOptions
  extends Pick<Environment, "timers" | "files" | "processes" | "log"> {
  /** `nginx` unless given. */
  readonly program?: string;
  /** Absolute and of this proxy alone; removed at the end. */
  readonly prefix: string;
}

/** `nginx -t` of the lab's few routes takes milliseconds; of 10,000 servers half a second. */
const checkTimeoutMs = 30_000;

/** Requests under way get this long; then they are cut, and then nginx is. */
const quitGraceMs = 2_000;
const terminateGraceMs = 2_000;

export class NginxProcess {
  readonly #options: NginxProcessOptions;
  readonly #program: string;
  readonly #ended = new AbortController();
  #child: ChildProcess | undefined;
  #isStopping = false;
  /** The first of its lines that says why it could not start. */
  #complaint = "";

  constructor(options: NginxProcessOptions) {
    this.#options = options;
    this.#program = options.program ?? "nginx";
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Aborts when nginx has ended, by our will or not; the reason says how. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Makes the folder and starts nginx with this configuration. */
  async start(configuration: string): Promise<void> {
    assert(this.#child === undefined, "nginx is started once");
    const { files, processes, prefix } = this.#options;
    await files.makeDirectory(`${prefix}/temp`);
    await files.makeDirectory(`${prefix}/lua`);
    const lua = luaModule({ ownerPid: processes.pid });
    await files.write(`${prefix}/lua/${luaModuleName}.lua`, lua);
    await this.install(configuration);
    const child = await processes.spawn(this.#program, this.#arguments("nginx.conf"), {
      // Ctrl-C reaches every process of a terminal's group; this one is ended in our order.
      ownGroup: true,
    });
    this.#child = child;
    // Both end with the process, and neither can fail.
    void this.#readOutput(child);
    void child.exited.then((exit) => this.#noteEnd(exit));
  }

  /** Checks the configuration and puts it in the place of the current one; not yet in effect. */
  async install(configuration: string): Promise<void> {
    const { files, processes, prefix } = this.#options;
    await files.write(`${prefix}/new.conf`, configuration);
    const { code, errorOutput } = await processes.run(
      this.#program,
      ["-t", "-q", ...this.#arguments("new.conf")],
      { timeoutMs: checkTimeoutMs },
    );
    if (code !== 0) throw new RefusedConfigurationError(errorOutput.trim());
    await files.write(`${prefix}/nginx.conf`, configuration);
  }

  /** As `nginx -s reload`. */
  reload(): void {
    this.#child?.kill("SIGHUP");
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child !== undefined) {
      const ended = async (graceMs: number): Promise<boolean> => this.#endsWithin(child, graceMs);
      child.kill("SIGQUIT");
      if (!(await ended(quitGraceMs))) {
        child.kill("SIGTERM");
        if (!(await ended(terminateGraceMs))) child.kill("SIGKILL");
      }
      await child.exited;
    }
    await this.#options.files.remove(this.#options.prefix);
  }

  #noteEnd({ code, signal }: ProcessExit): void {
    const how = signal ?? `code ${code}`;
    const message = `the stock proxy's nginx has ended: ${how} ${this.#complaint}`.trim();
    if (!this.#isStopping) this.#options.log.warn(message);
    this.#ended.abort(new Error(message));
  }

  async #readOutput({ errorOutput }: ChildProcess): Promise<void> {
    try {
      for await (const chunk of errorOutput) {
        const lines = Buffer.from(chunk).toString("utf8").split("\n");
        this.#complaint ||= lines.find((line) => line.includes("[emerg]")) ?? "";
      }
    } catch (error) {
      this.#options.log.debug("the output of the stock proxy's nginx broke off", { error });
    }
  }

  async #endsWithin(child: ChildProcess, graceMs: number): Promise<boolean> {
    let cancel = (): void => undefined;
    const tooLong = new Promise<boolean>((resolve) => {
      cancel = this.#options.timers.after(graceMs, () => resolve(false));
    });
    try {
      return await Promise.race([child.exited.then(() => true), tooLong]);
    } finally {
      cancel();
    }
  }

  #arguments(file: string): readonly string[] {
    const { prefix } = this.#options;
    return ["-p", prefix, "-e", `${prefix}/error.log`, "-c", `${prefix}/${file}`];
  }
}
