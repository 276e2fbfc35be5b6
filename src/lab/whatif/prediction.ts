// The answer to a question, from runs of the lab's controllers: the time of a resync, the waits of changes,
// the load of the API server, the bottleneck, and how nodes are marked as lost.

import { bindingConstraint, type Constraint } from "../probe/constraint.ts";
import { combined } from "../probe/interval-counters.ts";
import type { ByVerb } from "../probe/request-counters.ts";
import { profileNamed } from "../versions/profiles.ts";
import type { NodePrediction } from "./node-run.ts";
import {
  type PublishingResult,
  type PublishingRunOptions,
  runPublishing,
} from "./publishing-run.ts";
import type { Question } from "./question.ts";
import type { DepthPoint } from "./storm-watch.ts";
import { type ChangeWaits, changeWaits } from "./waits.ts";

export interface Prediction extends PublishingPrediction {
  readonly nodes: NodePrediction;
  /** Of controllers, churn and kubelets, in a second: on average and in the busiest one. */
  readonly load: { readonly mean: ByVerb; readonly peak: ByVerb };
}

export interface PublishingPrediction {
  readonly question: Question;
  /** The kind that consumers of this version watch. */
  readonly published: "Endpoints" | "EndpointSlices";
  readonly resync: ResyncPrediction;
  /** Undefined where there are no such times. */
  readonly waits: {
    readonly anyMoment: ChangeWaits | undefined;
    readonly resync: ChangeWaits | undefined;
    readonly quiet: ChangeWaits | undefined;
    readonly restart: ChangeWaits | undefined;
  };
  /** The longest wait of all that were timed; undefined when it grows. */
  readonly worstWaitMs: number | undefined;
  /**
   * Seconds by which the wait grows every second, because more work arrives than the limits allow.
   * There are no waits then. Undefined when the wait stays as it is.
   */
  readonly waitGrowth: number | undefined;
  readonly constraint: Constraint;
  /** The run ended early: the target it was tried for could not be met. */
  readonly isGivenUp: boolean;
  /** For charts, on the time of the run. */
  readonly trace: PublishingTrace;
  readonly controllerLoad: { readonly mean: ByVerb; readonly peak: ByVerb };
}

export interface PublishingTrace {
  /** Keys in the queues. */
  readonly depths: readonly DepthPoint[];
  /** The time of each measured change and its wait; empty while a queue only fills. */
  readonly waits: readonly (readonly [atMs: number, waitMs: number])[];
}

export interface ResyncPrediction {
  /** Until every service was synced; undefined when the next resync comes before that. */
  readonly drainMs: number | undefined;
  readonly restartDrainMs: number | undefined;
  /** Requests of one resync; undefined when resyncs overlap. */
  readonly requests: number | undefined;
  /** The shortest and the longest time between two resyncs: the factor is drawn at each start. */
  readonly periodMinMs: number;
  readonly periodMaxMs: number;
  /** Of all moments, those during a resync, 0 to 1. */
  readonly share: number;
}

/** The period is 1 to 2 times min-resync-period: the mean of the inverse of that factor. */
const meanInverseFactor = Math.log(2);

export function withNodes(publishing: PublishingPrediction, nodes: NodePrediction): Prediction {
  const { counts } = publishing.question;
  // With a limited server the kubelets' writes were part of the run.
  const hasWrites = counts.writesPerSecond !== undefined;
  const ofNode = nodes.requestsPerSecond;
  const ofKubelets = hasWrites ? { ...ofNode, POST: 0, PUT: 0, PATCH: 0, DELETE: 0 } : ofNode;
  const withKubelets = (load: ByVerb) =>
    combined(load, ofKubelets, (one, other) => one + other * counts.nodes);
  const { mean, peak } = publishing.controllerLoad;
  return { ...publishing, nodes, load: { mean: withKubelets(mean), peak: withKubelets(peak) } };
}

export async function predictPublishing(
  options: PublishingRunOptions,
): Promise<PublishingPrediction> {
  const { question } = options;
  const { counts, settings } = question;
  const result = await runPublishing(options);
  const { endpointSlices } = profileNamed(settings.version);
  const resync = resyncOf(question, result);
  const { probes } = result;
  const all = [...probes.start, ...probes.quiet, ...probes.storm];
  const isGrowing = result.waitGrowth !== undefined;
  const longestMs = Math.max(0, ...all.map(({ waitMs = 0 }) => waitMs));
  const during = { probes: probes.storm, share: resync.share };
  const measured = result.storm.durationMs > 0 ? result.storm : result.quiet;
  const between = { probes: probes.quiet, share: 1 - resync.share };
  return {
    question,
    published: endpointSlices ? "EndpointSlices" : "Endpoints",
    resync,
    waits: {
      anyMoment: changeWaits([between, during]),
      resync: changeWaits([{ probes: probes.storm, share: 1 }]),
      quiet: changeWaits([{ probes: probes.quiet, share: 1 }]),
      restart: changeWaits([{ probes: probes.start, share: 1 }]),
    },
    worstWaitMs: isGrowing ? undefined : longestMs,
    waitGrowth: result.waitGrowth,
    constraint: bindingConstraint({
      ...measured,
      workers: settings.workers * (endpointSlices ? 2 : 1),
      writes: measured.load.POST + measured.load.PUT + measured.load.PATCH + measured.load.DELETE,
      writesPerSecond: counts.writesPerSecond,
      worstWaitMs: isGrowing ? Number.POSITIVE_INFINITY : longestMs,
    }),
    isGivenUp: result.isGivenUp,
    trace: {
      depths: result.depths,
      waits: all
        .map(({ atMs, waitMs = 0 }) => [atMs, waitMs] as const)
        .sort(([one], [other]) => one - other),
    },
    controllerLoad: loadOf(result, resync.share),
  };
}

function resyncOf({ counts, settings }: Question, result: PublishingResult): ResyncPrediction {
  const { endpoints, endpointSlices } = profileNamed(settings.version);
  const { serviceResyncMs } = endpoints;
  const queues = endpointSlices ? 2 : 1;
  const drains = result.storms.map(({ startMs, endMs }) => endMs && endMs - startMs);
  const ended = drains.filter((drainMs) => drainMs !== undefined).sort((a, b) => a - b);
  const drainMs = result.isSaturated ? undefined : ended[ended.length >> 1];
  const requests = result.storms.map(({ requests: sent, keys }) =>
    // Every timed change added a key, with one request.
    Math.max(0, sent - Math.max(0, keys - counts.services * queues)),
  );
  const { quiet, storm } = result;
  const share = result.isWhole
    ? storm.durationMs / (storm.durationMs + quiet.durationMs)
    : ((drainMs ?? 0) * meanInverseFactor) / settings.resyncMs;
  return {
    drainMs,
    restartDrainMs: result.startDrainMs,
    // A timed change may have cost one request more, so the lowest count is that of the resync itself.
    requests: drainMs === undefined ? undefined : Math.min(...requests),
    periodMinMs: serviceResyncMs ?? settings.resyncMs,
    periodMaxMs: serviceResyncMs ?? settings.resyncMs * 2,
    share: result.isSaturated ? 1 : Math.min(1, share),
  };
}

function loadOf({ quiet, storm, peak }: PublishingResult, share: number) {
  const perSecond = (load: ByVerb, durationMs: number): ByVerb =>
    combined(load, load, (count) => (durationMs === 0 ? 0 : (count / durationMs) * 1000));
  const mean = combined(
    perSecond(quiet.load, quiet.durationMs),
    perSecond(storm.load, storm.durationMs),
    (between, during) => between * (1 - share) + during * share,
  );
  return { mean, peak };
}
