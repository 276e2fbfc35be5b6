// A replica that is started again when its proxy ends by itself, as a kubelet restarts a container: at the
// same address, so that the entry in front of it needs no change.
import type { Environment } from "../../environment/environment.ts";
import type { RoutedWitness } from "../../observe/routed-witness.ts";
import type { SideReplica } from "./side.ts";

export interface EndingReplica extends SideReplica {
  /** Aborts when its proxy has ended; the reason says how. */
  readonly ended: AbortSignal;
}

export interface KeptReplicaOptions extends Pick<Environment, "timers" | "log"> {
  readonly name: string;
  readonly witness: RoutedWitness;
  /** With the port of the first start, or 0 for any. */
  readonly start: (port: number) => Promise<EndingReplica>;
}

/** The workers of an nginx whose master was killed end within a second, and free the port. */
const restartAfterMs = 1_000;

/** Resolves when it serves. */
export async function startKeptReplica(options: KeptReplicaOptions): Promise<SideReplica> {
  const kept = new KeptReplica(options, await options.start(0));
  return { address: kept.address, problem: () => kept.problem, stop: () => kept.stop() };
}

class KeptReplica {
  readonly address: string;
  readonly #options: KeptReplicaOptions;
  readonly #stopping = new AbortController();
  readonly #keeping: Promise<void>;
  #current: EndingReplica | undefined;
  #problem: string | undefined;

  constructor(options: KeptReplicaOptions, first: EndingReplica) {
    this.#options = options;
    this.#current = first;
    this.address = first.address;
    this.#keeping = this.#keep();
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`${this.#options.name} is stopping`));
    await this.#keeping;
    await this.#current?.stop();
  }

  async #keep(): Promise<void> {
    const { witness } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const ended = this.#current?.ended ?? signal;
      await untilAborted(AbortSignal.any([ended, signal]));
      if (signal.aborted) return;
      this.#problem = messageOf(ended.reason);
      witness.lost();
      await this.#current?.stop();
      this.#current = undefined;
      await this.#restart();
      witness.found();
    }
  }

  async #restart(): Promise<void> {
    const { name, timers, log, start } = this.#options;
    const { signal } = this.#stopping;
    const port = Number(this.address.slice(this.address.lastIndexOf(":") + 1));
    while (!signal.aborted) {
      try {
        await timers.sleep(restartAfterMs, signal);
        this.#current = await start(port);
        this.#problem = undefined;
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = `it cannot be started again: ${messageOf(error)}`;
        log.warn("a replica cannot be started again; will retry", { replica: name, error });
      }
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
