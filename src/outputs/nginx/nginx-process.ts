// The nginx of one prefix as a process: whether it is there, how it is started, how it is ended. It
// is never our child: it puts itself into the background, and lives on when we end.
import type { Environment } from "../../environment/environment.ts";
import type { Signal } from "../../environment/processes.ts";

export interface NginxProcessOptions
  extends Pick<Environment, "clock" | "timers" | "files" | "processes"> {
  readonly prefix: string;
  /** Name or path of the program. */
  readonly program: string;
}

/** Reading the configuration and binding takes some ten milliseconds; on an overloaded machine, 10 s were seen. */
const startTimeoutMs = 30_000;

/** How often a process that should end is looked at. */
const endPollMs = 20;

/** After SIGTERM nginx drops its connections at once; a worker that does not is stuck. */
const terminateMs = 2_000;

/** proc(5): how much of its program's name the system keeps of a process. */
const nameLengthMax = 15;

/** proc(5): a zombie, and what comes after. */
const deadStates: ReadonlySet<string> = new Set(["Z", "X", "x"]);

/** Advice for the errors that users see. */
const advice: readonly (readonly [complaint: RegExp, what: string])[] = [
  [
    /^bind\(\).*Address already in use/,
    "Another program uses this port. Stop it, or choose another port or address.",
  ],
  [
    /^bind\(\).*Cannot assign requested address/,
    "This machine does not have this address. Use one of its addresses, or 0.0.0.0 for all.",
  ],
  [
    /^bind\(\).*Permission denied/,
    "A port below 1024 needs CAP_NET_BIND_SERVICE. Choose another port, or run as root.",
  ],
  [
    /ngx_http_lua_module|ndk_http_module/,
    "nginx needs its Lua module. On Debian install libnginx-mod-http-lua.",
  ],
];

export class NginxStartError extends Error {
  override readonly name = "NginxStartError";
  readonly code = "NGINX_START";
}

export class NginxProcess {
  readonly #options: NginxProcessOptions;

  constructor(options: NginxProcessOptions) {
    this.#options = options;
  }

  /** The master by nginx's own record; undefined when that process is gone or is another's. */
  async masterPid(): Promise<number | undefined> {
    const { files, prefix } = this.#options;
    const text = await files.read(`${prefix}/nginx.pid`);
    const pid = Number(Buffer.from(text ?? []).toString("utf8"));
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    return (await this.isNginx(pid)) ? pid : undefined;
  }

  /**
   * The number of a process that ended is given to another one day, which must not be ended in its
   * place: where the system says what a process is, it must be nginx.
   */
  async isNginx(pid: number): Promise<boolean> {
    const { files, processes } = this.#options;
    if (!processes.isAlive(pid)) return false;
    const command = await files.read(`/proc/${pid}/cmdline`);
    if (command?.length === 0) return await this.#isEnding(pid);
    return command === undefined || Buffer.from(command).toString("utf8").includes("nginx");
  }

  /**
   * A process that ends loses its command line first and closes its sockets later; only then can
   * another nginx listen. When all is closed the system calls it dead, though it may keep its number.
   */
  async #isEnding(pid: number): Promise<boolean> {
    const { files, program } = this.#options;
    const text = Buffer.from((await files.read(`/proc/${pid}/stat`)) ?? []).toString("utf8");
    const [, name, state = ""] = /^\d+ \((.*)\) (\S)/s.exec(text) ?? [];
    const ownName = program.slice(program.lastIndexOf("/") + 1).slice(0, nameLengthMax);
    return name === ownName && !deadStates.has(state);
  }

  /** Resolves when nginx listens; fails with what it said when it does not want to. */
  async start(signal: AbortSignal): Promise<void> {
    const { processes, prefix, program } = this.#options;
    const args = ["-p", prefix, "-c", `${prefix}/nginx.conf`];
    const { code, errorOutput } = await processes.run(program, args, {
      directory: prefix,
      timeoutMs: startTimeoutMs,
      signal,
    });
    if (code === 0) return;
    throw new NginxStartError(`nginx did not start: ${await this.#complaint(errorOutput)}`);
  }

  /** Asks these processes to finish their requests, and ends them when the time is over. */
  async endGracefully(pids: readonly number[], drainMs: number): Promise<void> {
    if (await this.#end(pids, "SIGQUIT", drainMs)) return;
    await this.endNow(pids);
  }

  async endNow(pids: readonly number[]): Promise<void> {
    if (await this.#end(pids, "SIGTERM", terminateMs)) return;
    await this.#end(pids, "SIGKILL", terminateMs);
  }

  /** True when all of them are gone within the time. */
  async #end(pids: readonly number[], signal: Signal, withinMs: number): Promise<boolean> {
    const { clock, processes, timers } = this.#options;
    const beganAt = clock.monotonicMs();
    let left = await this.#alive(pids);
    for (const pid of left) processes.kill(pid, signal);
    while (left.length > 0 && clock.monotonicMs() - beganAt < withinMs) {
      await timers.sleep(endPollMs);
      left = await this.#alive(left);
    }
    return left.length === 0;
  }

  async #alive(pids: readonly number[]): Promise<readonly number[]> {
    const alive = await Promise.all(pids.map((pid) => this.isNginx(pid)));
    return pids.filter((_, index) => alive[index]);
  }

  /** The first of its complaints names the cause; the rest repeat it for each attempt to bind. */
  async #complaint(errorOutput: string): Promise<string> {
    const lines = errorOutput.split("\n").filter((line) => line.includes("[emerg]"));
    const text = (lines[0] ?? errorOutput).replace(/^.*?\[emerg\] (\d+#\d+: )?/, "").trim();
    const [, what] = advice.find(([complaint]) => complaint.test(text)) ?? [];
    return what === undefined ? text : `${text}. ${what}`;
  }
}
