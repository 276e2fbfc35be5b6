// Child processes in memory. A program is an async function registered under a name; each start
// gives it a process of its own on the same machine, with its own environment, so that killing it
// stops its timers and breaks its connections.
import type { Environment } from "../environment/environment.ts";
import {
  type ChildProcess,
  ProcessError,
  type ProcessExit,
  type Processes,
  type RunOptions,
  type RunResult,
  type Signal,
  type SpawnOptions,
} from "../environment/processes.ts";
import { BodyReceiver } from "./network/body-receiver.ts";
import { never, SimulatedProcess } from "./simulated-process.ts";

/** The input of a program; its result is the exit code. */
export interface ProgramContext {
  readonly environment: Environment;
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  readonly input: Uint8Array;
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Takes signals but SIGKILL from here on; without it they end the process. */
  readonly onSignal: (listener: (signal: Signal) => void) => void;
}

export type Program = (context: ProgramContext) => Promise<number>;

export interface SimulatedProcessesOptions {
  readonly process: SimulatedProcess;
  readonly programs: ReadonlyMap<string, Program>;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The environment of a process started here. */
  readonly environmentOf: (
    process: SimulatedProcess,
    variables: Readonly<Record<string, string | undefined>>,
  ) => Environment;
  /** The environment of the process itself, for the time limit of a run. */
  readonly self: () => Environment;
}

interface Launch {
  readonly child: SimulatedProcess;
  readonly main: Program;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
  readonly input: Uint8Array;
  readonly output: BodyReceiver;
  readonly errorOutput: BodyReceiver;
}

/** As the real one collects. */
const maxCollectedBytes = 16 * 1024 * 1024;

export class SimulatedProcesses implements Processes {
  readonly #options: SimulatedProcessesOptions;
  readonly pid: number;
  readonly isRoot = false;
  readonly self: Processes["self"] = ["lockstep"];
  readonly variables: Readonly<Record<string, string | undefined>>;

  constructor(options: SimulatedProcessesOptions) {
    this.#options = options;
    this.pid = options.process.pid;
    this.variables = options.variables;
  }

  async spawn(
    program: string,
    args: readonly string[],
    options: SpawnOptions = {},
  ): Promise<ChildProcess> {
    return this.#start(program, args, options, new Uint8Array());
  }

  async run(program: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
    const { signal, timeoutMs, input } = options;
    if (signal?.aborted === true) throw aborted(program, signal);
    const bytes = typeof input === "string" ? Buffer.from(input) : (input ?? new Uint8Array());
    const child = await this.#start(program, args, options, bytes);
    let failure: ProcessError | undefined;
    const stop = (error: ProcessError): void => {
      failure ??= error;
      child.kill("SIGKILL");
    };
    const onAbort = (): void => stop(aborted(program, signal));
    signal?.addEventListener("abort", onAbort, { once: true });
    const late = new ProcessError("TIMEOUT", `${program} took more than ${timeoutMs} ms`);
    const cancelTimeout = this.#options.self().timers.after(timeoutMs, () => stop(late));
    const [output, errorOutput, exit] = await Promise.all([
      collect(child.output),
      collect(child.errorOutput),
      child.exited,
    ]);
    cancelTimeout();
    signal?.removeEventListener("abort", onAbort);
    if (failure !== undefined) throw failure;
    return { ...exit, output, errorOutput };
  }

  isAlive(pid: number): boolean {
    return this.#options.process.host.processes.has(pid);
  }

  kill(pid: number, signal: Signal): void {
    const { process } = this.#options;
    if (!process.ended) process.host.processes.get(pid)?.signal(signal);
  }

  #start(
    program: string,
    args: readonly string[],
    options: SpawnOptions,
    input: Uint8Array,
  ): Promise<ChildProcess> {
    const parent = this.#options.process;
    if (parent.ended) return never();
    const main = this.#options.programs.get(program);
    if (main === undefined) {
      return Promise.reject(new ProcessError("NOT_FOUND", `no program ${program} on this host`));
    }
    const child = new SimulatedProcess(parent.host);
    if (options.detached !== true) parent.onEnd((end) => child.end(end));
    const output = outputStream();
    const errorOutput = outputStream();
    const exited = this.#launch({ child, main, args, options, input, output, errorOutput });
    if (options.detached === true) {
      output.end();
      errorOutput.end();
    }
    const kill = (signal: Signal): void => this.kill(child.pid, signal);
    return Promise.resolve({ pid: child.pid, output, errorOutput, exited, kill });
  }

  #launch(launch: Launch): Promise<ProcessExit> {
    const { child, output, errorOutput, options } = launch;
    const variables = { ...this.variables, ...options.environment };
    const context: ProgramContext = {
      environment: this.#options.environmentOf(child, variables),
      args: launch.args,
      variables,
      directory: options.directory ?? "/",
      input: launch.input,
      write: (text) => output.push(Buffer.from(text)),
      writeError: (text) => errorOutput.push(Buffer.from(text)),
      onSignal: (listener) => {
        child.signalListener = listener;
      },
    };
    let exitCode: number | null = null;
    const exit = (code: number): void => {
      if (child.ended) return;
      exitCode = code;
      child.end("exited");
    };
    launch.main(context).then(exit, (error: unknown) => {
      errorOutput.push(Buffer.from(`${String(error)}\n`));
      exit(1);
    });
    const parent = this.#options.process;
    return new Promise((resolve) => {
      child.onEnd(() => {
        if (parent.ended) return;
        output.end();
        errorOutput.end();
        const signal = exitCode === null ? (child.endedBy ?? "SIGKILL") : null;
        resolve({ code: exitCode, signal });
      });
    });
  }
}

function outputStream(): BodyReceiver {
  return new BodyReceiver({ onTake: () => undefined, onFinish: () => undefined });
}

function aborted(program: string, signal: AbortSignal | undefined): ProcessError {
  return new ProcessError("ABORTED", `${program} was aborted`, { cause: signal?.reason });
}

async function collect(output: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of output) {
    if (size < maxCollectedBytes) chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, maxCollectedBytes).toString("utf8");
}
