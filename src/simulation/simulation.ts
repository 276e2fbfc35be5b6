// A whole world in one process: machines, their clocks and chance, the network between them, and
// time that passes only when nothing is left to do. The same program code runs here as over real
// sockets; from one seed a run repeats exactly.
import { startCostlyChecks } from "../environment/assert.ts";
import type { Environment } from "../environment/environment.ts";
import type { Random } from "../environment/random.ts";
import { Guard } from "./guard.ts";
import type { Latency } from "./network/link.ts";
import { catchRejections } from "./rejections.ts";
import { SeededRandom } from "./seeded-random.ts";
import { FileTree, SimulatedFiles } from "./simulated-files.ts";
import { type LogLine, SimulatedLogs } from "./simulated-log.ts";
import { SimulatedNames } from "./simulated-names.ts";
import { SimulatedNetwork } from "./simulated-network.ts";
import { type SimulatedHost, SimulatedProcess } from "./simulated-process.ts";
import { type Program, SimulatedProcesses } from "./simulated-processes.ts";
import { SimulatedTimers, simulatedClock } from "./simulated-timers.ts";
import { Trace } from "./trace.ts";
import { type Progress, VirtualTime } from "./virtual-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** The run fails when virtual time would pass this; `defaultMaxVirtualMs` unless given. */
  readonly maxVirtualMs?: number;
  /** The run fails after so many events; `defaultMaxEvents` unless given. */
  readonly maxEvents?: number;
  /** Between two machines, unless changed for a pair. */
  readonly latency?: Latency;
  /** Keeps the newest entries of the trace readable, to find where two runs part. */
  readonly recordLast?: number;
  /** Called now and then with the guard lifted: here the real world may be used. */
  readonly onProgress?: (progress: Progress) => void | Promise<void>;
  /** Ends the run at once when it aborts, with its reason, whatever is under way. */
  readonly signal?: AbortSignal;
  /** Events between two calls of `onProgress`. */
  readonly progressEveryEvents?: number;
}

export interface HostOptions {
  /** How far the machine's wall clock is ahead of true time. */
  readonly wallSkewMs?: number;
}

export interface CrashOptions {
  /** The machine is gone as well: its peers get no sign, and notice it by keep-alive. */
  readonly vanish?: boolean;
}

/** A month: longer than any incident, short enough to notice a run that never ends. */
const defaultMaxVirtualMs = 31 * 24 * 3_600_000;

/** A few minutes of real time. */
const defaultMaxEvents = 100_000_000;

const defaultProgressEveryEvents = 10_000;

/** Runs `main` in a world of its own, in virtual time, until it settles. */
export async function simulate<Result>(
  options: SimulationOptions,
  main: (simulation: Simulation) => Promise<Result>,
): Promise<Result> {
  const { signal } = options;
  signal?.throwIfAborted();
  const guard = Guard.install();
  const simulation = new Simulation(options, guard);
  const stopChecks = startCostlyChecks((error) => simulation.fail(error));
  const rejections = catchRejections((reason) => simulation.fail(reason));
  const onAbort = (): void => simulation.fail(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const result = await simulation.run(main);
    rejections.throwFirst();
    return result;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    rejections.forget();
    stopChecks();
    guard.remove();
  }
}

export class Simulation {
  readonly trace: Trace;
  readonly network: SimulatedNetwork;
  /** The answers of every machine's resolver. */
  readonly names = new SimulatedNames();
  /** For fault plans and the like; no host draws from it. */
  readonly random: Random;
  readonly #seed: number;
  readonly #time: VirtualTime;
  readonly #logs: SimulatedLogs;
  readonly #hosts = new Map<string, SimulatedHost>();
  /** The main process of each host that runs, with its environment. */
  readonly #running = new Map<string, { process: SimulatedProcess; environment: Environment }>();
  readonly #programs = new Map<string, Program>();

  constructor(options: SimulationOptions, guard: Guard) {
    const { seed, recordLast, latency, onProgress } = options;
    this.#seed = seed;
    this.trace = new Trace(recordLast === undefined ? {} : { recordLast });
    this.#time = new VirtualTime({
      trace: this.trace,
      maxVirtualMs: options.maxVirtualMs ?? defaultMaxVirtualMs,
      maxEvents: options.maxEvents ?? defaultMaxEvents,
      describeWaiting: () => this.#describeWaiting(),
      ...(onProgress !== undefined && {
        progress: {
          everyEvents: options.progressEveryEvents ?? defaultProgressEveryEvents,
          report: (progress) => guard.lifted(() => onProgress(progress)),
        },
      }),
    });
    const time = this.#time;
    const trace = this.trace;
    this.#logs = new SimulatedLogs({ time, trace });
    this.network = new SimulatedNetwork({ time, trace, seed, ...(latency && { latency }) });
    this.random = this.#stream("the simulation", -1);
  }

  /** Virtual milliseconds since the run began. */
  now(): number {
    return this.#time.nowMs;
  }

  /** Events so far: what a run costs. */
  get events(): number {
    return this.#time.events;
  }

  /** Calls back at a virtual time, or now when that has passed, whatever the hosts do. */
  at(atMs: number, callback: () => void): void {
    this.#time.at(atMs, undefined, callback);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#time.after(ms, undefined, resolve);
    });
  }

  /**
   * The environment of a machine's main process. The same name gives the same environment until the
   * machine crashes; after that it restarts, with the files it had.
   */
  host(name: string, options: HostOptions = {}): Environment {
    const host = this.#host(name);
    if (options.wallSkewMs !== undefined) host.wallSkewMs = options.wallSkewMs;
    const running = this.#running.get(name);
    if (running !== undefined) return running.environment;
    this.network.setVanished(name, false);
    const process = new SimulatedProcess(host);
    const environment = this.#environmentOf(process, {});
    this.#running.set(name, { process, environment });
    return environment;
  }

  /** Ends every process of a machine at once; whatever they wait for never comes. */
  crash(name: string, options: CrashOptions = {}): void {
    const host = this.#host(name);
    const vanish = options.vanish === true;
    this.trace.add("fault", this.now(), host.index, 0, vanish ? "vanish" : "crash");
    if (vanish) this.network.setVanished(name, true);
    this.#running.delete(name);
    for (const process of host.processes.values()) {
      process.end(vanish ? "vanished" : "exited");
    }
  }

  /** Sets how far a machine's wall clock is ahead: a jump, as a clock correction makes. */
  setWallSkew(name: string, wallSkewMs: number): void {
    const host = this.#host(name);
    this.trace.add("fault", this.now(), host.index, wallSkewMs, "clock");
    host.wallSkewMs = wallSkewMs;
  }

  wallSkewMs(name: string): number {
    return this.#host(name).wallSkewMs;
  }

  /** Writes into the trace what is done to the world. */
  noteFault(text: string): void {
    this.trace.add("fault", this.now(), 0, 0, text);
  }

  /** Makes a program known to every machine. */
  registerProgram(name: string, program: Program): void {
    this.#programs.set(name, program);
  }

  /** The newest log lines of all machines, oldest first. */
  logLines(): readonly LogLine[] {
    return this.#logs.lines();
  }

  /** Ends the run with this error. */
  fail(error: unknown): void {
    this.#time.fail(error);
  }

  /** For `simulate`, which guards and cleans up around it. */
  run<Result>(main: (simulation: Simulation) => Promise<Result>): Promise<Result> {
    return this.#time.run(() => main(this));
  }

  #host(name: string): SimulatedHost {
    let host = this.#hosts.get(name);
    if (host === undefined) {
      const index = this.#hosts.size;
      host = {
        name,
        index,
        random: this.#stream(`host ${name}`, index),
        files: new FileTree(),
        wallSkewMs: 0,
        nextPid: 1,
        processes: new Map(),
      };
      this.#hosts.set(name, host);
    }
    return host;
  }

  #environmentOf(
    process: SimulatedProcess,
    variables: Readonly<Record<string, string | undefined>>,
  ): Environment {
    const time = this.#time;
    const log = this.#logs.logOf(process);
    const timers = new SimulatedTimers({ time, process });
    const environment: Environment = {
      clock: simulatedClock(time, process),
      timers,
      random: process.host.random,
      network: this.network.networkOf(process, log),
      names: this.names.namesOf(timers),
      files: new SimulatedFiles(process),
      processes: new SimulatedProcesses({
        process,
        programs: this.#programs,
        variables,
        environmentOf: (child, childVariables) => this.#environmentOf(child, childVariables),
        self: () => environment,
      }),
      // Computing takes no time in a simulation.
      processor: { usedMs: () => 0 },
      log,
    };
    return environment;
  }

  #stream(name: string, index: number): SeededRandom {
    const onDraw = (value: number): void => {
      this.trace.add("draw", this.#time.nowMs, index, value);
    };
    return new SeededRandom({ seed: this.#seed, name, onDraw });
  }

  #describeWaiting(): string {
    const hosts = [...this.#running.keys()].join(", ") || "none";
    return (
      `nothing is left to happen at ${this.now()} ms, after ${this.events} events, and the run ` +
      `still waits: for a promise that never settles, or for the real world. Hosts: ${hosts}; ` +
      `open exchanges: ${this.network.openExchanges()}; seed ${this.#seed}`
    );
  }
}
