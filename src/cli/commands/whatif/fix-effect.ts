// Predicts the effect of a fix for `lockstep doctor` and the page: the same cluster is simulated with the
// settings that were found and with those of the fix, in a thread of its own and for a bounded time.
import type { FixQuestion, NotPredicted, PredictFix } from "../../../doctor/fix-effect.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Timers } from "../../../environment/timers.ts";
import type { LabJob, LabResult } from "../../../lab/thread/lab-job.ts";
import { LabJobError, LabWorker } from "../../../lab/thread/lab-worker.ts";
import { nearestProfile } from "../../../lab/versions/nearest-profile.ts";
import { type InputKey, inputNamed, rangeText } from "../../../lab/whatif/inputs.ts";
import type { NodePrediction } from "../../../lab/whatif/node-run.ts";
import type { PublishingPrediction } from "../../../lab/whatif/prediction.ts";
import type { Question, Settings } from "../../../lab/whatif/question.ts";
import { UsageError } from "../../command.ts";
import { numberText } from "../../terminal/value-text.ts";
import { flagsOf } from "./cluster-counts.ts";
import { questionOf } from "./question.ts";
import { argumentsOf, flapsText, spread } from "./view.ts";

export interface FixEffectOptions {
  readonly timers: Pick<Timers, "after">;
  /** Only for tests. */
  readonly startWorker?: () => Pick<LabWorker, "run" | "stop">;
}

/** A cluster of 15,000 services takes about half of it on an idle machine. */
const withinMs = 90_000;

/** The same for both runs, so that only the settings differ. */
const seed = 1;

/** Waits below it are not what the finding is about. */
const lateMs = 1_000;

export function fixEffects({
  timers,
  startWorker = () => new LabWorker(),
}: FixEffectOptions): PredictFix {
  return async (question, { signal, onProgress }) => {
    const questions = questionsOf(question);
    if ("notPredicted" in questions) return questions;
    const worker = startWorker();
    const timeout = new AbortController();
    const cancel = timers.after(withinMs, () => timeout.abort(new Error("too long")));
    const both = AbortSignal.any([signal, timeout.signal]);
    const run: Run = (job, step) =>
      worker.run(job, {
        signal: both,
        onProgress: ({ stageMs }) => onProgress(step, `${durationText(stageMs)} of simulated time`),
      });
    try {
      onProgress("simulating the fix", "starting");
      return { effect: await effectOf(question, questions, run) };
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.signal.aborted) return { notPredicted: tooLong };
      if (error instanceof LabJobError) return { notPredicted: `${error.message}.` };
      throw error;
    } finally {
      cancel();
      await worker.stop();
    }
  };
}

const tooLong = `the simulation took longer than ${durationText(withinMs)}; lockstep whatif has no such limit.`;

type Run = <Job extends LabJob>(job: Job, step: string) => Promise<LabResult<Job>>;

interface Questions {
  readonly now: Question;
  readonly fixed: Question;
}

async function effectOf(
  question: FixQuestion,
  { now, fixed }: Questions,
  run: Run,
): Promise<string> {
  const steps = ["simulating the present settings", "simulating the fix"] as const;
  const head = `Simulated with ${assumptionText(question, now)}.`;
  if (question.concerns === "nodes") {
    const before = await run({ type: "nodes", question: now }, steps[0]);
    const after = await run({ type: "nodes", question: fixed }, steps[1]);
    return `${head} Now ${nodesText(before)}. With the fix ${nodesText(after)}.`;
  }
  const before = await run({ type: "publishing", question: now }, steps[0]);
  if ((before.worstWaitMs ?? Number.POSITIVE_INFINITY) < lateMs) {
    const most = durationText(before.worstWaitMs ?? 0);
    return `${head} A start or a resync alone delays a change by at most ${most}, so other work uses the limit.`;
  }
  const after = await run({ type: "publishing", question: fixed }, steps[1]);
  return `${head} Now ${publishingText(before)}. With the fix ${publishingText(after)}.`;
}

function questionsOf(question: FixQuestion): Questions | NotPredicted {
  const { version, flags, fixed } = question;
  const found = flagsOf([...flags].map(([name, value]) => `--${name}=${value}`));
  const given = { ...found, ...sizesIn(question) };
  const changed = flagsOf(
    fixed.grace === undefined ? [] : [`--node-monitor-grace-period=${fixed.grace}`],
  );
  const { qps, burst } = fixed;
  const wanted = { ...given, ...changed, ...(qps && { qps }), ...(burst && { burst }) };
  for (const [key, value] of Object.entries(wanted)) {
    const input = inputNamed(key);
    if (input === undefined || input.unit === "duration") continue;
    if (value >= input.from && value <= input.to) continue;
    const range = rangeText(input);
    return {
      notPredicted: `the simulation takes ${key} ${range}, and here it is ${numberText(value)}.`,
    };
  }
  const gap = question.concerns === "nodes" ? { by: undefined, ...question.gap } : undefined;
  const asked = { seed, ...(gap && { heartbeat: gap }) };
  try {
    return {
      now: questionOf({ ...asked, given, version: profileOf(version) }),
      fixed: questionOf({ ...asked, given: wanted, version: profileOf(fixed.version ?? version) }),
    };
  } catch (error) {
    if (error instanceof UsageError) return { notPredicted: error.message.replaceAll("\n", " ") };
    throw error;
  }
}

function sizesIn(question: FixQuestion): Readonly<Partial<Record<InputKey, number>>> {
  if (question.concerns === "nodes") return {};
  const { services, headless, pods, nodes } = question.sizes;
  return {
    services,
    "headless-share": headless / services,
    ...(pods !== undefined && { pods }),
    ...(nodes !== undefined && { nodes }),
  };
}

/** A version without its patch is taken as its first release. */
function profileOf(version: string) {
  return nearestProfile(/^\d+\.\d+$/.test(version) ? `v${version}.0` : `v${version}`);
}

function assumptionText(question: FixQuestion, { settings }: Question): string {
  const release = releaseText(question.version, settings);
  if (question.concerns === "nodes") {
    const { minMs, maxMs } = question.gap;
    return `heartbeats every ${durationText(minMs)} to ${durationText(maxMs)} and Kubernetes ${release}`;
  }
  const { services, headless } = question.sizes;
  const [qps, burst, workers] = argumentsOf(settings);
  return (
    `${numberText(services)} services (${numberText(headless)} headless), Kubernetes ${release}, ` +
    `${qps}, ${burst} and ${workers}`
  );
}

function releaseText(version: string, settings: Settings): string {
  return version === settings.version ? version : `${version} (as ${settings.version})`;
}

function publishingText({ resync, worstWaitMs }: PublishingPrediction): string {
  const { drainMs } = resync;
  const taken =
    drainMs === undefined
      ? "a resync does not end before the next one"
      : `a resync takes ${durationText(drainMs)}`;
  const waited =
    worstWaitMs === undefined
      ? "the wait of changes grows"
      : `a change waits up to ${durationText(worstWaitMs)}`;
  return `${taken}, and ${waited}`;
}

function nodesText({ flapsPerHour, noticed }: NodePrediction): string {
  const flaps =
    flapsPerHour === 0
      ? "a healthy node is never marked lost"
      : `a healthy node is marked lost ${flapsText(flapsPerHour)}`;
  return `${flaps}, and a dead one after ${spread(noticed)}`;
}
