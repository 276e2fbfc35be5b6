// Asks one proxy replica again and again what it routes to, and lets a witness speak for it. While it
// does not answer, its hop is unknown and not waited for; when it answers again, what has changed
// since is known to have happened in between. How to ask and what the answer means is the reader's.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { RoutedWitness } from "../routed-witness.ts";
import type { ProxyKind } from "./proxy-address.ts";

/** Asks a proxy of one kind. */
export interface ProxyReader {
  /** Asks once and tells the witness what is new. Throws when there is no answer to rely on. */
  read(signal: AbortSignal): Promise<void>;
  /** Undefined until it is known. */
  readonly kind: ProxyKind | undefined;
  /** Names in its answers that could be of several services, and so count for none. */
  readonly ambiguous: readonly string[];
  /** Nothing of it reaches the witness any more. Idempotent. */
  stop(): void;
}

export interface ProxySourceOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  /** The replica's, as people know it. */
  readonly name: string;
  readonly reader: ProxyReader;
  readonly witness: RoutedWitness;
  /** While it does not answer, it is asked this often; as often as otherwise unless given. */
  readonly lostEveryMs?: number;
}

export interface ProxyStatus {
  readonly name: string;
  /** Undefined until it is known. */
  readonly kind: ProxyKind | undefined;
  /** `asking` until the first answer; `lost` when none has come for a while. */
  readonly state: "asking" | "connected" | "lost";
  /** When the last answer came; undefined before the first. */
  readonly answeredAt: MonotonicMs | undefined;
  /** Why there was no answer the last time; undefined when there was one. */
  readonly problem: string | undefined;
  readonly ambiguous: readonly string[];
}

/** As often as ingress-nginx's own workers look for new backends. */
const askEveryMs = 1_000;

/** A reload or a busy moment is shorter; after this the routes of the replica are unknown. */
const lostAfterMs = 5_000;

/** An answer that takes long to make is asked for less often: at most a twentieth of the time. */
const pauseForEachMsOfWork = 20;

export class ProxySource {
  readonly #options: ProxySourceOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #begunAt: MonotonicMs | undefined;
  #answeredAt: MonotonicMs | undefined;
  #problem: string | undefined;
  #isLost = false;

  constructor(options: ProxySourceOptions) {
    this.#options = options;
  }

  get status(): ProxyStatus {
    const { name, reader } = this.#options;
    return {
      name,
      kind: reader.kind,
      state: this.#isLost ? "lost" : this.#answeredAt === undefined ? "asking" : "connected",
      answeredAt: this.#answeredAt,
      problem: this.#problem,
      ambiguous: reader.ambiguous,
    };
  }

  /** A second call does nothing. */
  start(): void {
    this.#begunAt ??= this.#options.clock.monotonicMs();
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Idempotent; from then on its hop is unknown. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the proxy is no longer asked"));
    this.#options.reader.stop();
    await this.#running;
    this.#options.witness.stop();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, timers, lostEveryMs = 0 } = this.#options;
    while (!signal.aborted) {
      const begunAt = clock.monotonicMs();
      await this.#ask(signal);
      if (signal.aborted) return;
      const workedMs = elapsedMs(begunAt, clock.monotonicMs());
      const lostMs = this.#isLost ? lostEveryMs : 0;
      const pauseMs = this.#problem === undefined ? workedMs * pauseForEachMsOfWork : lostMs;
      try {
        await timers.sleep(Math.max(askEveryMs - workedMs, pauseMs, askEveryMs / 2), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { clock, reader, witness, name, log } = this.#options;
    try {
      await reader.read(signal);
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
      return;
    }
    if (this.#isLost) log.info("the proxy reports its endpoints again", { proxy: name });
    witness.found();
    this.#answeredAt = clock.monotonicMs();
    this.#problem = undefined;
    this.#isLost = false;
  }

  #failed(error: unknown): void {
    const { clock, witness, name, log } = this.#options;
    this.#problem = error instanceof Error ? error.message : String(error);
    const silentSince = this.#answeredAt ?? this.#begunAt ?? clock.monotonicMs();
    if (this.#isLost || elapsedMs(silentSince, clock.monotonicMs()) < lostAfterMs) return;
    this.#isLost = true;
    witness.lost();
    log.warn("a proxy does not report its endpoints; its routed times are unknown from now on", {
      proxy: name,
      error,
    });
  }
}
