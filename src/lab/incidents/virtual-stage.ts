// A stage in virtual time: every machine is simulated, and hours pass in seconds. Only the reports of
// progress use real time.
import { createHash } from "node:crypto";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { AccuracyCounters } from "../observed/observer-accuracy.ts";
import type { Recording } from "../saved/recording.ts";
import type { StageRecorder } from "../saved/stage-recorder.ts";
import { type Incident, type IncidentResult, ofShortPlay } from "./incident.ts";
import type { PlaySize, Stage, StageProgress } from "./stage.ts";
import { TimeToCause } from "./time-to-cause.ts";

export interface VirtualPlayOptions {
  readonly seed: number;
  readonly fix?: boolean;
  /** Measures how long `lockstep doctor` takes to name the cause; not unless given. */
  readonly examine?: boolean;
  /** `full` unless given. */
  readonly size?: PlaySize;
  /** Records each stage; none unless given. */
  readonly recording?: Recording;
  /** Aborts the play, with its reason. */
  readonly signal?: AbortSignal;
  /** Called with each simulation before the play, to change its defaults. */
  readonly onOpened?: (simulation: Simulation) => void;
  /** Called from time to time in real time, while virtual time stands still. */
  readonly onProgress?: (progress: StageProgress) => void | Promise<void>;
}

/** A few times a second. */
const progressEveryEvents = 500;

/** Any network: no packet leaves the simulation. */
const podNetwork = "10.7";

/** The machine from which a play is recorded. */
const operator = "operator";

/** Opens stages, and keeps the results of all of them. */
export class VirtualStages {
  readonly #options: VirtualPlayOptions;
  readonly #timeToCause: TimeToCause | undefined;
  readonly #hash = createHash("sha256");
  /** Of the observers on all stages. */
  readonly accuracy = new AccuracyCounters();
  #durationMs = 0;

  constructor(options: VirtualPlayOptions, timeToCause?: TimeToCause) {
    this.#options = options;
    this.#timeToCause = timeToCause;
  }

  get durationMs(): number {
    return this.#durationMs;
  }

  /** Of all stages so far; no stage may be opened afterwards. */
  traceHash(): string {
    return this.#hash.digest("hex");
  }

  readonly open = async <Result>(play: (stage: Stage) => Promise<Result>): Promise<Result> => {
    const { seed, size = "full", signal, onProgress, onOpened, recording } = this.#options;
    const { accuracy } = this;
    const said = { step: "" };
    const progress = onProgress && {
      onProgress: ({ nowMs }: { readonly nowMs: number }) =>
        onProgress({ step: said.step, stageMs: nowMs }),
    };
    const simulated = { seed, progressEveryEvents, ...progress, ...(signal && { signal }) };
    return simulate(simulated, async (simulation) => {
      onOpened?.(simulation);
      const recorder = recording?.forStage(simulation.host(operator), operator);
      const stage = virtualStage(simulation, said, { size, recorder, accuracy });
      const timeToCause = this.#timeToCause;
      const onTrouble = (access: ClusterAccess): void => timeToCause?.begin(stage, access);
      const result = await play(timeToCause === undefined ? stage : { ...stage, onTrouble });
      // It looks on the stage where the trouble began, and not after that.
      await timeToCause?.stopOn(stage);
      this.#durationMs += simulation.now() - (recorder?.heldUpMs ?? 0);
      this.#hash.update(simulation.trace.hash());
      return result;
    });
  };
}

/** The whole incident in virtual time. */
export async function playInVirtualTime(
  incident: Incident,
  options: VirtualPlayOptions,
): Promise<IncidentResult> {
  const { seed, fix = false, size = "full" } = options;
  const isExamined = options.examine === true && !fix && size === "full";
  const timeToCause = isExamined ? new TimeToCause(incident.rule) : undefined;
  const stages = new VirtualStages(options, timeToCause);
  const findings = await incident.play(stages.open, { fix });
  const measures = [...findings.measures, ...(timeToCause ? [timeToCause.measure] : [])];
  return {
    name: incident.name,
    isFixed: fix,
    stage: "virtual",
    seed,
    durationMs: stages.durationMs,
    traceHash: stages.traceHash(),
    observer: stages.accuracy.result(),
    ...(size === "short" ? ofShortPlay(findings) : { ...findings, measures }),
  };
}

function virtualStage(
  simulation: Simulation,
  said: { step: string },
  {
    size,
    recorder,
    accuracy,
  }: Pick<Stage, "accuracy" | "size"> & { recorder: StageRecorder | undefined },
): Stage {
  return {
    accuracy,
    ...(recorder !== undefined && { recorder }),
    mode: "virtual",
    size,
    environmentOf: (machine) => simulation.host(machine),
    hostOf: (machine) => machine,
    folderOf: () => "/run/lockstep",
    powerOff: (machine) => {
      simulation.network.isolate(machine);
      return true;
    },
    podNetwork,
    random: simulation.random,
    now: () => simulation.now(),
    sleep: (ms) => simulation.sleep(ms),
    say: (step) => {
      said.step = step;
    },
  };
}
