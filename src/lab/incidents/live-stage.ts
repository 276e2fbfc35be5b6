// A stage in real time: every machine has its own loopback address. Everything runs in this process over
// real sockets, except the proxies: each of them is a real nginx. When the play ends, fails, takes too
// long or is aborted, everything ends at once.
import { elapsedMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { SeededRandom } from "../../simulation/seeded-random.ts";
import { endNginx } from "../comparison/stage-side.ts";
import { takeLoopbackNetworks } from "../loopback-networks.ts";
import { AccuracyCounters } from "../observed/observer-accuracy.ts";
import type { Recording } from "../saved/recording.ts";
import { AbortableEnvironment } from "./abortable-environment.ts";
import { type Incident, type IncidentResult, ofShortPlay } from "./incident.ts";
import type { ObservablePlay, Stage, StageProgress } from "./stage.ts";

export interface LivePlayOptions {
  readonly environment: Environment;
  /** A folder of this run alone, for sockets and files. */
  readonly folder: string;
  /** For the random choices of the play; those of the machines are really random. */
  readonly seed: number;
  readonly fix?: boolean;
  readonly signal: AbortSignal;
  /** Records each stage; none unless given. */
  readonly recording?: Recording;
  readonly onProgress?: (progress: StageProgress) => void;
  /** Called when other tools can observe the play. */
  readonly onObservable?: (play: ObservablePlay) => void;
}

/** A play takes one to three minutes; a longer one is stuck. */
const longestMs = 480_000;

const progressEveryMs = 200;

/** Pods have the low addresses of their network, so that a lab beside us never has these. */
const machinesOctet = 254;

/** Of every play in real time. */
const realProxies =
  "every proxy is a real nginx; the configuration and Lua of stock are the lab's model of ingress-nginx";

/** The play was stuck. */
export class LiveTimeoutError extends Error {
  override readonly name = "LiveTimeoutError";
  readonly code = "LIVE_TIMEOUT";
}

export class LiveStages {
  readonly #options: LivePlayOptions;
  /** Of the observers on all stages. */
  readonly accuracy = new AccuracyCounters();
  #durationMs = 0;

  constructor(options: LivePlayOptions) {
    this.#options = options;
  }

  /** On all stages until now. */
  get durationMs(): number {
    return this.#durationMs;
  }

  readonly open = async <Result>(play: (stage: Stage) => Promise<Result>): Promise<Result> => {
    const { environment, signal, onProgress } = this.#options;
    signal.throwIfAborted();
    const world = new AbortableEnvironment(environment);
    const said = { step: "" };
    const folders = new Set<string>();
    // The listeners that hold them end with the world.
    const { networks } = await takeLoopbackNetworks(world.environment, 2);
    const stage = this.#stage(world.environment, { said, folders, networks });
    const ending = new AbortController();
    const report = () => {
      if (said.step !== "") onProgress?.({ ...said, stageMs: stage.now() });
    };
    const progress = this.#report(report, ending);
    try {
      return await Promise.race([play(stage), this.#calledOff(said, ending.signal)]);
    } finally {
      this.#durationMs += stage.now();
      ending.abort(new Error("the play is over"));
      await progress;
      await world.end();
      for (const folder of folders) await endNginx(environment, folder);
    }
  };

  /** Rejects when the play is aborted or takes too long; stays pending after its end. */
  #calledOff(said: { readonly step: string }, over: AbortSignal): Promise<never> {
    const { environment, signal } = this.#options;
    return new Promise((_, reject) => {
      const stop = (): void => reject(signal.reason);
      const cancel = environment.timers.after(longestMs, () =>
        reject(new LiveTimeoutError(`still "${said.step}" after ${longestMs / 60_000} minutes`)),
      );
      signal.addEventListener("abort", stop, { once: true });
      over.addEventListener("abort", () => {
        cancel();
        signal.removeEventListener("abort", stop);
      });
    });
  }

  async #report(report: () => void, ending: AbortController): Promise<void> {
    const { timers } = this.#options.environment;
    while (!ending.signal.aborted) {
      report();
      try {
        await timers.sleep(progressEveryMs, ending.signal);
      } catch (error) {
        if (!ending.signal.aborted) throw error;
      }
    }
  }

  #stage(
    environment: Environment,
    {
      said,
      folders,
      networks: [machines = "", podNetwork = ""],
    }: { said: { step: string }; folders: Set<string>; networks: readonly string[] },
  ): Stage {
    const { seed, folder, recording, onObservable } = this.#options;
    const { clock, timers } = environment;
    const numbers = new Map<string, number>();
    const openedAt = clock.monotonicMs();
    return {
      ...(recording !== undefined && { recorder: recording.forStage(environment) }),
      ...(onObservable !== undefined && { onObservable: onObservable }),
      accuracy: this.accuracy,
      mode: "live",
      size: "short",
      environmentOf: () => environment,
      hostOf: (machine) => {
        const number = numbers.get(machine) ?? numbers.size + 1;
        numbers.set(machine, number);
        return `${machines}.${machinesOctet}.${number}`;
      },
      folderOf: (machine) => {
        folders.add(`${folder}/${machine}`);
        return `${folder}/${machine}`;
      },
      powerOff: () => false,
      podNetwork,
      random: new SeededRandom({ seed, name: "the play" }),
      now: () => elapsedMs(openedAt, clock.monotonicMs()),
      sleep: (ms) => timers.sleep(ms),
      say: (step) => {
        said.step = step;
      },
    };
  }
}

/** The whole incident in real time. */
export async function playLive(
  incident: Incident,
  options: LivePlayOptions,
): Promise<IncidentResult> {
  const { seed, fix = false } = options;
  const stages = new LiveStages(options);
  const findings = await incident.play(stages.open, { fix });
  return {
    name: incident.name,
    isFixed: fix,
    stage: "live",
    seed,
    durationMs: stages.durationMs,
    traceHash: undefined,
    observer: stages.accuracy.result(),
    ...ofShortPlay(findings),
    fitted: [...ofShortPlay(findings).fitted, realProxies],
  };
}
