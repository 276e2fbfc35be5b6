// A simulated machine and the processes on it. A process is what can die: when it ends, its timers
// never fire again, its listeners and connections break, and whatever its code still tries to do
// has no effect. The machine keeps its name, its files and its wall clock.
import type { Signal } from "../environment/processes.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { FileTree } from "./simulated-files.ts";

/**
 * `exited`: the machine closes the connections. `vanished`: the machine is gone too, and the peers
 * get no sign.
 */
export type ProcessEnd = "exited" | "vanished";

export interface SimulatedHost {
  readonly name: string;
  /** A small number for the trace, in order of creation. */
  readonly index: number;
  readonly random: SeededRandom;
  readonly files: FileTree;
  /** How far this machine's wall clock is ahead of true time. */
  wallSkewMs: number;
  /** Pids never return, as on a machine that has not wrapped them yet. */
  nextPid: number;
  /** Processes that have not ended, by pid. */
  readonly processes: Map<number, SimulatedProcess>;
}

export class SimulatedProcess {
  readonly host: SimulatedHost;
  readonly pid: number;
  /** Takes the signals but SIGKILL; without it they end the process. */
  signalListener: ((signal: Signal) => void) | undefined;
  /** The signal that ended it, if one did. */
  endedBy: Signal | undefined;
  readonly #endListeners = new Set<(end: ProcessEnd) => void>();
  #ended = false;

  constructor(host: SimulatedHost) {
    this.host = host;
    this.pid = host.nextPid++;
    host.processes.set(this.pid, this);
  }

  get ended(): boolean {
    return this.#ended;
  }

  signal(signal: Signal): void {
    if (this.#ended) return;
    if (this.signalListener !== undefined && signal !== "SIGKILL") {
      this.signalListener(signal);
      return;
    }
    this.endedBy = signal;
    this.end("exited");
  }

  onEnd(listener: (end: ProcessEnd) => void): void {
    this.#endListeners.add(listener);
  }

  /** Idempotent. */
  end(how: ProcessEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.host.processes.delete(this.pid);
    for (const listener of this.#endListeners) listener(how);
    this.#endListeners.clear();
  }
}

/** The promise of a dead process: it never settles. */
export function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => undefined);
}
