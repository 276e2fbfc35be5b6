// An incident in simulated time: the lab's thread plays it, then it is shown at a speed at which a person
// can watch it. Counters and charts at an instant of the show are those of the same instant of the play.

import { durationText } from "../../../../environment/duration-text.ts";
import type { Environment } from "../../../../environment/environment.ts";
import type { IncidentResult, Series } from "../../../../lab/incidents/incident.ts";
import type { PlayedIncident } from "../../../../lab/thread/lab-job.ts";
import type { LabWorker } from "../../../../lab/thread/lab-worker.ts";
import type { RequestCount, Series as ShownSeries } from "../../../../server/api.ts";
import { pageFinding } from "../../../../server/page-doctor.ts";
import { type IncidentReport, shownMeasure } from "./incident-report.ts";

export interface SimulatedIncidentOptions extends Pick<Environment, "clock" | "timers"> {
  readonly name: string;
  readonly worker: Pick<LabWorker, "run">;
  readonly report: IncidentReport;
  /** Resolves when the person asks for the fix. */
  readonly fixWanted: Promise<void>;
  readonly signal: AbortSignal;
}

/** Any play repeats from it. */
const seed = 1;

/** Long enough to follow, short enough for a tour of a minute. */
const showMs = 15_000;
const frameMs = 500;

/** Each step of the computation is shown once. */
export async function runSimulatedIncident(options: SimulatedIncidentOptions): Promise<void> {
  const { name, report, clock, fixWanted } = options;
  report.step("the lab plays it in simulated time, with fewer objects than in the incident report");
  const { result, diagnosis } = await play(options, { fix: false });
  report.enter("fault");
  await show(options, result);
  const measures = result.measures.map((measure) => shownMeasure(measure));
  report.measure(measures);
  report.enter("examining");
  report.step("the doctor reads the logs, metrics and objects that an operator would have saved");
  const [finding] = diagnosis?.findings ?? [];
  if (finding === undefined) throw new Error(`the doctor named no cause of ${name}`);
  report.found(pageFinding(finding, { cluster: null, since: clock.wallMs() }));
  await untilWanted(fixWanted, options.signal);
  report.enter("fixing");
  report.step("the lab plays it again, with the fix");
  const fixed = await play(options, { fix: true });
  await show(options, fixed.result);
  const after = fixed.result.measures.map((measure) => shownMeasure(measure, "with the fix: "));
  report.measure([...measures, ...after]);
  report.enter("fixed");
}

async function play(
  { name, worker, report, signal }: SimulatedIncidentOptions,
  { fix }: { readonly fix: boolean },
): Promise<PlayedIncident> {
  let said = "";
  return await worker.run(
    { type: "incident", name, fix, seed, size: "short", examine: !fix },
    {
      signal,
      onProgress: ({ step }) => {
        if (step === "" || step === said) return;
        said = step;
        report.step(`computing: ${step}`);
      },
    },
  );
}

/** Plays the result back: the first stage from its start to its end, then the next. */
async function show(
  { report, timers, clock, signal }: SimulatedIncidentOptions,
  result: IncidentResult,
): Promise<void> {
  const stages = stagesOf(result);
  const lastMs = Math.max(1, ...stages.values());
  const startedAt = clock.monotonicMs();
  const entries = result.timeline
    .map(({ atMs, stage = 1, text }) => ({ atMs: atMs + offsetOf(stages, stage), text }))
    .sort((one, other) => one.atMs - other.atMs);
  let shown = 0;
  for (;;) {
    const share = Math.min(1, (clock.monotonicMs() - startedAt) / showMs);
    const nowMs = share * lastMs;
    for (const { atMs, text } of entries.slice(shown)) {
      if (atMs > nowMs) break;
      shown += 1;
      report.step(`at ${durationText(Math.round(atMs / 1000) * 1000)} of simulated time: ${text}`);
    }
    report.count(requestsAt(result, stages, nowMs));
    report.chart(result.series.map((series) => shownSeries(series, stages, nowMs)));
    if (share === 1) return;
    await timers.sleep(frameMs, signal);
  }
}

/** The time at which each stage ends, when all stages are shown one after the other. */
type StageEnds = ReadonlyMap<number, number>;

function stagesOf({ series, timeline }: IncidentResult): StageEnds {
  const lengths = new Map<number, number>();
  const reach = (stage: number, atMs: number) =>
    void lengths.set(stage, Math.max(lengths.get(stage) ?? 0, atMs));
  for (const { stage = 1, points } of series) reach(stage, points.at(-1)?.[0] ?? 0);
  for (const { stage = 1, atMs } of timeline) reach(stage, atMs);
  let endMs = 0;
  const ends = new Map<number, number>();
  for (const stage of [...lengths.keys()].sort((one, other) => one - other)) {
    endMs += lengths.get(stage) ?? 0;
    ends.set(stage, endMs);
  }
  return ends;
}

function lengthOf(stages: StageEnds, stage: number): number {
  return (stages.get(stage) ?? 0) - offsetOf(stages, stage);
}

function offsetOf(stages: StageEnds, stage: number): number {
  return Math.max(0, ...[...stages].flatMap(([one, endMs]) => (one < stage ? [endMs] : [])));
}

/** Each point of a series of lost requests is one request. */
function requestsAt(
  { series, measures }: IncidentResult,
  stages: StageEnds,
  nowMs: number,
): readonly RequestCount[] {
  const measured = (wanted: string) => measures.find(({ id }) => id === wanted);
  return series.flatMap(({ unit, side, stage = 1, points }): RequestCount[] => {
    if (unit !== "requests" || side === undefined) return [];
    const passed = pointsUntil(points, nowMs - offsetOf(stages, stage));
    // The measures are of all requests, and may include those of a stage without a series.
    const isAll = measured("requests-sent")?.[side] === passed.length;
    const sentToDead = isAll ? (measured("requests-to-dead")?.[side] ?? null) : null;
    return [{ side, requests: passed.length, lost: passed.at(-1)?.[1] ?? 0, sentToDead }];
  });
}

function shownSeries(
  { id, text, unit, side, stage = 1, points }: Series,
  stages: StageEnds,
  nowMs: number,
): ShownSeries {
  const offsetMs = offsetOf(stages, stage);
  const stageMs = nowMs - offsetMs;
  const isLag = unit === "ms";
  const chart = isLag ? `lag of each change ${text}` : text;
  const until = pointsUntil(points, stageMs);
  return {
    id,
    chart,
    title:
      side === undefined ? chart : `${chart}: ${side === "stock" ? "stock (model)" : "Lockstep"}`,
    unit: isLag || unit === "per second" || unit === "share" ? unit : "count",
    cluster: null,
    side: side ?? null,
    hop: isLag ? (side === undefined ? "published" : "routed") : null,
    direction: null,
    limit: null,
    points: (isLag ? until : heldBetween(until, Math.min(stageMs, lengthOf(stages, stage)))).map(
      ([atMs, value]) => [offsetMs + atMs, value],
    ),
  };
}

/** A count holds until it changes: its last value stands right before each change, and at the end. */
function heldBetween(points: Series["points"], endMs: number): Series["points"] {
  const held: [number, number][] = [];
  for (const [atMs, value] of points) {
    const [beforeMs, before] = held.at(-1) ?? [atMs, value];
    if (before !== value && beforeMs < atMs - 1) held.push([atMs - 1, before]);
    held.push([atMs, value]);
  }
  const [lastMs, last] = held.at(-1) ?? [endMs, undefined];
  if (last !== undefined && lastMs < endMs) held.push([endMs, last]);
  return held;
}

function pointsUntil(points: Series["points"], nowMs: number): Series["points"] {
  const after = points.findIndex(([atMs]) => atMs > nowMs);
  return after < 0 ? points : points.slice(0, after);
}

/** Rejects with the reason when the signal aborts first. */
export async function untilWanted(wanted: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  await Promise.race([wanted, aborted]);
}
