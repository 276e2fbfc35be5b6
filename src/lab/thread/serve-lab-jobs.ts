// The thread's side: runs one job at a time, reports its progress a few times a second, and answers with
// its result. The clusters of predictions are kept for the next question.
import { type Diagnosis, diagnose } from "../../doctor/diagnose.ts";
import { noFacts } from "../../doctor/evidence/evidence.ts";
import { TextReader } from "../../doctor/evidence/text-reader.ts";
import { assert } from "../../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { allIncidents } from "../incidents/all-incidents.ts";
import type { Incident } from "../incidents/incident.ts";
import type { StageProgress } from "../incidents/stage.ts";
import {
  playThrottledController,
  throttledController,
} from "../incidents/throttled-controller/play.ts";
import { playInVirtualTime } from "../incidents/virtual-stage.ts";
import { Recording } from "../saved/recording.ts";
import { truthFolder } from "../saved/stage-recorder.ts";
import { Laboratory } from "../whatif/laboratory.ts";
import type {
  IncidentJob,
  LabAnswer,
  LabJob,
  LabRequest,
  LabResult,
  PlayedIncident,
} from "./lab-job.ts";

export interface LabServiceOptions {
  readonly clock: Clock;
  readonly answer: (answer: LabAnswer) => void;
}

/** Often enough to look alive. */
const progressEveryMs = 200;

/** Takes the requests in their order. */
export function labService(options: LabServiceOptions): (request: LabRequest) => void {
  const service = new LabService(options);
  return (request) => service.take(request);
}

class LabService {
  readonly #options: LabServiceOptions;
  readonly #laboratory: Laboratory;
  #running: AbortController | undefined;
  #reportedAt: MonotonicMs | undefined;

  constructor(options: LabServiceOptions) {
    this.#options = options;
    this.#laboratory = new Laboratory({
      onProgress: ({ step, virtualMs }) => this.#report({ step, stageMs: virtualMs }),
    });
  }

  take(request: LabRequest): void {
    if (request.type === "abort") {
      this.#running?.abort(new Error("the job was aborted"));
      return;
    }
    assert(this.#running === undefined, "one job at a time");
    const running = new AbortController();
    this.#running = running;
    // It never rejects.
    void this.#run(request.job, running.signal);
  }

  async #run(job: LabJob, signal: AbortSignal): Promise<void> {
    const answer = await this.#answer(job, signal);
    this.#running = undefined;
    this.#options.answer(answer);
  }

  async #answer(job: LabJob, signal: AbortSignal): Promise<LabAnswer> {
    try {
      return { type: "done", result: await this.#result(job, signal) };
    } catch (error) {
      return { type: "failed", message: error instanceof Error ? error.message : String(error) };
    }
  }

  async #result(job: LabJob, signal: AbortSignal): Promise<LabResult<LabJob>> {
    if (job.type === "incident") return this.#play(job, signal);
    const laboratory = this.#laboratory.abortedBy(signal);
    if (job.type === "publishing") return laboratory.publishing(job.question);
    if (job.type === "nodes") return laboratory.nodes(job.question);
    return laboratory.predict(job.question);
  }

  async #play(job: IncidentJob, signal: AbortSignal): Promise<PlayedIncident> {
    const recording = job.examine ? new Recording() : undefined;
    const result = await playInVirtualTime(incidentOf(job), {
      seed: job.seed,
      fix: job.fix,
      size: job.size,
      signal,
      onProgress: (progress) => this.#report(progress),
      ...(recording !== undefined && { recording }),
    });
    return { result, diagnosis: recording && diagnosisOf(recording) };
  }

  #report(progress: StageProgress): void {
    const now = this.#options.clock.monotonicMs();
    if (this.#reportedAt !== undefined && elapsedMs(this.#reportedAt, now) < progressEveryMs) {
      return;
    }
    this.#reportedAt = now;
    this.#options.answer({ type: "progress", ...progress });
  }
}

function incidentOf({ name, releaseOnly = false }: IncidentJob): Incident {
  const incident = allIncidents.find((one) => one.name === name);
  if (incident === undefined) throw new Error(`there is no incident ${name}`);
  if (!releaseOnly) return incident;
  assert(incident === throttledController, "only this incident has a release of its own");
  return {
    ...incident,
    play: (open, { fix }) => playThrottledController(open, { fix, releaseOnly }),
  };
}

/** From the files that an operator would have, without those that only the lab knows. */
function diagnosisOf(recording: Recording): Diagnosis {
  const facts = noFacts();
  for (const [path, content] of recording.files()) {
    if (path.split("/").includes(truthFolder)) continue;
    const reader = new TextReader(facts, path);
    for (const [index, line] of content.split("\n").entries()) reader.push(line, index + 1);
    reader.end();
  }
  return diagnose({ ...facts, metrics: [], journeys: undefined });
}
