// Prints a prediction of `lockstep whatif`, for people in at most 80 columns and as a JSON document: the
// question, the waits, resync, nodes, load on the API server, and the bottleneck. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import {
  type ConstraintEvidence,
  type ConstraintName,
  processorRequestsPerSecond,
} from "../../../lab/probe/constraint.ts";
import { type ByVerb, verbs } from "../../../lab/probe/request-counters.ts";
import { type InputKey, shortDuration } from "../../../lab/whatif/inputs.ts";
import type { NodePrediction, Spread } from "../../../lab/whatif/node-run.ts";
import type { Prediction, PublishingPrediction } from "../../../lab/whatif/prediction.ts";
import type { Counts, Heartbeat, Question, Settings } from "../../../lab/whatif/question.ts";
import { settingFlags } from "../../../lab/whatif/run-flags.ts";
import type { SweepRow } from "../../../lab/whatif/sweep.ts";
import type { TargetAnswer, Try } from "../../../lab/whatif/target.ts";
import type { ChangeWaits, Waits } from "../../../lab/whatif/waits.ts";
import { hasP99 } from "../../../timeline/percentile.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Column, rowLines } from "../../terminal/table.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText, percentText } from "../../terminal/value-text.ts";

export interface LineOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Assumptions of the preset. */
  readonly fitted?: string;
}

export function predictionLines(prediction: Prediction, options: LineOptions): readonly string[] {
  return [
    ...questionLines(prediction.question, options),
    "",
    ...waitLines(prediction, options),
    "",
    ...resyncLines(prediction, options),
    "",
    ...nodeLines(prediction.nodes, prediction.question.settings, options),
    "",
    ...loadLines(prediction.load, options),
    "",
    ...constraintLines(prediction, options),
  ];
}

const indent = "  ";

const waitColumns: readonly Column[] = [
  { width: 24, align: "left" },
  { width: 12, align: "right" },
  { width: 12, align: "right" },
  { width: 12, align: "right" },
  { width: 7, align: "right" },
];

function waitLines(
  { published, waits, resync, waitGrowth }: PublishingPrediction,
  { paint, width }: LineOptions,
): readonly string[] {
  const title = paint.strong(`Wait until a pod change is listed in ${published}`);
  if (waitGrowth !== undefined) {
    return [
      title,
      ...wrapText(`saturated: ${growthText(waitGrowth)}`, {
        width,
        first: indent,
        rest: indent,
      }).map(paint.late),
      ...wrapText(saturatedNote, { width, first: indent, rest: indent }).map(paint.secondary),
    ];
  }
  const rows: readonly (readonly [string, Waits | undefined])[] = [
    ["random time", waits.anyMoment],
    ["· addition", waits.anyMoment?.joins],
    ["· removal", waits.anyMoment?.leaves],
    ["during a resync", waits.resync],
    ["no resync", waits.quiet],
    ["during a restart", waits.restart],
  ];
  const note =
    resync.share === 1
      ? levelNote
      : `A resync takes ${shareText(resync.share)} of the time; the first three rows use this weight.`;
  return [
    title,
    ...rowLines(["", "p50", "p99", "max", "changes"], waitColumns, indent).map(paint.secondary),
    ...rows.flatMap(([name, row]) => rowLines([name, ...waitCells(row)], waitColumns, indent)),
    ...wrapText(note, { width, first: indent, rest: indent }).map(paint.secondary),
  ];
}

const levelNote =
  "saturated: the queue is never empty, so there is no time without a resync. The wait no longer " +
  "grows, because a service is in the queue only once.";

const saturatedNote =
  "More changes arrive than the limits allow, so there is no typical wait. This is measured while " +
  "the queue fills; the growth ends at the latest when every service is in the queue.";

/** A slow growth is shown per minute, because the number per second would be too small to read. */
function growthText(secondsPerSecond: number): string {
  const isSlow = secondsPerSecond < 0.1;
  const ms = secondsPerSecond * (isSlow ? 60_000 : 1_000);
  return `the wait grows by ${durationText(ms)} every ${isSlow ? "minute" : "second"}.`;
}

function shareText(share: number): string {
  return share < 0.001 ? `less than ${percentText(0.001)}` : percentText(share);
}

function waitCells(waits: Waits | ChangeWaits | undefined): readonly string[] {
  if (waits === undefined) return ["–", "–", "–", "0"];
  const { p50Ms, p99Ms, maxMs, changes } = waits;
  const p99 = hasP99(changes) ? durationText(p99Ms) : "–";
  return [durationText(p50Ms), p99, durationText(maxMs), numberText(changes)];
}

function resyncLines(
  { resync, waitGrowth }: PublishingPrediction,
  { paint }: LineOptions,
): readonly string[] {
  const { drainMs, restartDrainMs, requests, periodMinMs, periodMaxMs } = resync;
  const period =
    periodMinMs === periodMaxMs
      ? `every ${shortDuration(periodMinMs)}`
      : `every ${shortDuration(periodMinMs)} to ${shortDuration(periodMaxMs)}`;
  const cost = requests === undefined ? "" : `, ${numberText(requests)} requests`;
  const unfinished =
    waitGrowth === undefined ? "not finished before the next one" : "never finished";
  const drained = (ms: number | undefined) =>
    ms === undefined ? unfinished : `finished in ${durationText(ms)}`;
  return [
    paint.strong("A resync of all services"),
    `  ${period}${cost}, ${drained(drainMs)}`,
    `  a restart of the controllers: ${drained(restartDrainMs)}`,
  ];
}

const loadColumns: readonly Column[] = [
  { width: 14, align: "left" },
  ...["total", ...verbs].map(() => ({ width: 6, align: "right" }) as const),
];

function loadLines({ mean, peak }: Prediction["load"], { paint }: LineOptions): readonly string[] {
  const total = (load: ByVerb) => verbs.reduce((sum, verb) => sum + load[verb], 0);
  const cells = (load: ByVerb) => [total(load), ...verbs.map((verb) => load[verb])].map(rateText);
  return [
    paint.strong("Requests a second at the API server"),
    ...rowLines(["", "total", ...verbs], loadColumns, indent).map(paint.secondary),
    ...rowLines(["average", ...cells(mean)], loadColumns, indent),
    ...rowLines(["busiest second", ...cells(peak)], loadColumns, indent),
  ];
}

/** A sample is no more exact than this. */
export function rateText(perSecond: number): string {
  return numberText(Number(perSecond.toFixed(perSecond >= 10 ? 0 : 2)));
}

/** The cluster in words, and the settings as flags of kube-controller-manager, defaults included. */
export function questionLines(
  { counts, settings }: Question,
  { width, paint, fitted }: LineOptions,
): readonly string[] {
  const wrapped = (text: string) => wrapText(text, { width, first: indent, rest: indent });
  return [
    paint.strong("The cluster"),
    ...wrapped(clusterText(counts)),
    ...(fitted === undefined ? [] : wrapped(`assumed: ${fitted}`).map(paint.secondary)),
    paint.strong(`The settings: Kubernetes ${settings.version}`),
    ...wrapped(argumentsOf(settings).join(" ")),
    ...wrapped(heartbeatText(settings.heartbeat)),
  ];
}

/** The flags to copy. */
export function argumentsOf(settings: Settings): readonly string[] {
  return Object.entries(settingFlags(settings)).map(([name, value]) =>
    name.endsWith("-period") ? `--${name}=${shortDuration(Number(value))}` : `--${name}=${value}`,
  );
}

function clusterText(counts: Counts): string {
  const { services, headlessShare, pods, nodes, changesPerSecond, writesPerSecond } = counts;
  const headless = numberText(Math.round(services * headlessShare));
  const churn =
    changesPerSecond === 0
      ? "no pod changes except the measured ones"
      : `${numberText(changesPerSecond)} pod ${changesPerSecond === 1 ? "change" : "changes"} a second`;
  const capacity =
    writesPerSecond === undefined
      ? "API server without a write limit"
      : `API server with ${numberText(writesPerSecond)} writes a second`;
  return (
    `${numberText(services)} services (${headless} headless), ${numberText(pods)} pods, ` +
    `${numberText(nodes)} nodes; ${churn}; ${capacity}, ` +
    `${durationText(counts.writeLatencyMs)} per write when idle`
  );
}

function heartbeatText({ by, minMs, maxMs }: Heartbeat): string {
  const what = by === "lease" ? "renew their Lease" : "post their status";
  const gap =
    minMs === maxMs
      ? `every ${durationText(minMs)}`
      : `every ${durationText(minMs)} to ${durationText(maxMs)}`;
  return `kubelets ${what} ${gap}`;
}

/** The bottleneck, its measurements, and the change that would help. */
function constraintLines(
  prediction: PublishingPrediction,
  { width, paint }: LineOptions,
): readonly string[] {
  const { name } = prediction.constraint;
  const paintName = name === "none" ? paint.lockstep : paint.late;
  const wrapped = (text: string) => wrapText(text, { width, first: "  ", rest: "  " });
  return [
    `${paint.strong("Bottleneck:")} ${paintName(constraintTexts[name])}`,
    ...wrapped(constraintSentence(prediction)),
    ...wrapped(advice[name]).map(paint.secondary),
  ];
}

/** The same in sentences: a saturated queue, the bottleneck, and the change that would help. */
export function predictionNotes(prediction: PublishingPrediction): readonly string[] {
  const { constraint, resync, waitGrowth } = prediction;
  const saturated =
    waitGrowth !== undefined
      ? [`saturated: ${growthText(waitGrowth)}`, saturatedNote]
      : resync.share === 1
        ? [levelNote]
        : [];
  const { name } = constraint;
  const bottleneck = `Bottleneck: ${constraintTexts[name]}. ${constraintSentence(prediction)}`;
  return [...saturated, bottleneck, advice[name]];
}

export function constraintSentence({ constraint, question }: PublishingPrediction): string {
  const sentence = sentences[constraint.name](constraint.evidence, question.settings);
  const isBeyond = constraint.evidence.requestsPerSecond > processorRequestsPerSecond;
  return isBeyond ? `${sentence} ${processorNote}` : sentence;
}

const processorNote =
  `Above about ${processorRequestsPerSecond} requests a second processor time decides, and it is not ` +
  "simulated: real controllers are busy, merge changes and write less often than predicted.";

const sentences: Readonly<
  Record<ConstraintName, (evidence: ConstraintEvidence, settings: Settings) => string>
> = {
  limiter: (evidence, { qps, workers }) =>
    `Workers spent ${percentText(round(evidence.tokenShare))} of their time waiting for the client rate ` +
    `limit. Rate: ${rate(evidence)} requests a second, ${allowedText(evidence, qps)}. Time per key: ` +
    `${durationText(evidence.workMs)} (workers ÷ qps: ${durationText((workers / qps) * 1000)}). ` +
    `Answer time of the API server: ${durationText(evidence.answerMs)}.`,
  server: (evidence) =>
    `The API server used ${percentText(round(evidence.serverShare ?? 0))} of its write capacity. ` +
    `Rate: ${rate(evidence)} requests a second, answer time ${durationText(evidence.answerMs)}. ` +
    `Workers spent ${percentText(round(evidence.tokenShare))} of their time waiting for the client ` +
    "rate limit.",
  workers: (evidence, { workers }) =>
    `All ${workers} workers were busy ${percentText(round(evidence.busyShare))} of the time, ` +
    `waiting for answers of ${durationText(evidence.answerMs)} each. They waited for the client rate ` +
    `limit ${percentText(round(evidence.tokenShare))} of it. Rate: ${rate(evidence)} requests a second.`,
  none: (evidence) =>
    "No measured change waited for 1 s or longer. Workers were busy " +
    `${percentText(round(evidence.busyShare))} of the time and waited for the client rate limit ` +
    `${percentText(round(evidence.tokenShare))} of that.`,
};

const constraintTexts: Readonly<Record<ConstraintName, string>> = {
  limiter: "the client's rate limit",
  server: "the API server",
  workers: "the workers of the controllers",
  none: "none",
};

const advice: Readonly<Record<ConstraintName, string>> = {
  limiter: "More workers would not help; a higher --kube-api-qps would.",
  server: "Higher limits and more workers would not help; fewer writes would.",
  workers: "A higher --kube-api-qps would not help; more --concurrent-endpoint-syncs would.",
  none: "No setting here would make it faster.",
};

/** In a short queue the burst still adds to the allowed rate. */
function allowedText({ requestsPerSecond }: ConstraintEvidence, qps: number): string {
  const isBurst = requestsPerSecond > burstMattersFrom * qps;
  return `allowed ${numberText(qps)}${isBurst ? " plus the burst" : ""}`;
}

/** Further above the limit than noise of the measurement. */
const burstMattersFrom = 1.05;

function rate({ requestsPerSecond }: ConstraintEvidence): string {
  return numberText(Number(requestsPerSecond.toPrecision(3)));
}

/** A share to the tenth of a percent. */
function round(share: number): number {
  return Math.round(share * 1000) / 1000;
}

/** Both sides of the grace period: healthy nodes that are marked lost, and the time until a dead one is. */
function nodeLines(
  nodes: NodePrediction,
  { graceMs }: Settings,
  { paint }: LineOptions,
): readonly string[] {
  const { flapsPerHour, outages, noticed, left, nodeHours } = nodes;
  const hours = numberText(Number(nodeHours.toPrecision(2)));
  return [
    paint.strong(`Nodes, with a grace period of ${durationText(graceMs)}`),
    `  healthy node marked lost: ${flapsText(flapsPerHour)} (in ${hours} node hours)`,
    ...(outages === undefined ? [] : [`    its endpoints are missing for ${spread(outages)}`]),
    `  dead node marked lost after ${spread(noticed)}`,
    `    its endpoints are removed after ${spread(left)}`,
  ];
}

export function flapsText(perHour: number): string {
  if (perHour === 0) return "never";
  return `${numberText(Number(perHour.toPrecision(3)))} times an hour`;
}

export function spread(times: Spread | undefined): string {
  if (times === undefined) return "more than the simulated time";
  return `${durationText(times.p50Ms)}, at most ${durationText(times.maxMs)}`;
}

const documentHead = { kind: "lockstep-whatif", version: 1 } as const;

export function predictionDocument(prediction: Prediction): object {
  const { nodes, load } = prediction;
  return { ...documentHead, ...publishingFields(prediction), nodes, load };
}

export function targetDocument(question: Question, answer: TargetAnswer): object {
  const { targetMs, tries, found, cheaper } = answer;
  return {
    ...documentHead,
    question: questionFields(question),
    target: {
      targetMs,
      isMet: found !== undefined,
      found: found === undefined ? null : tryFields(found),
      cheaper: cheaper.map(tryFields),
      tries: tries.map(tryFields),
    },
  };
}

export function sweepDocument(
  question: Question,
  key: InputKey,
  rows: readonly SweepRow[],
): object {
  return {
    ...documentHead,
    question: questionFields(question),
    sweep: {
      key,
      rows: rows.map(({ value, publishing, nodes }) => ({
        value,
        ...(publishing === undefined ? {} : publishingFields(publishing)),
        ...(nodes === undefined ? {} : { nodes }),
      })),
    },
  };
}

function tryFields({ settings, prediction, isMet }: Try): object {
  const { question: _, ...fields } = publishingFields(prediction);
  return { settings, arguments: argumentsOf(settings), isMet, ...fields };
}

function publishingFields(prediction: PublishingPrediction) {
  const { question, published, resync, waits, worstWaitMs, waitGrowth, constraint } = prediction;
  return {
    question: questionFields(question),
    published,
    resync: {
      ...resync,
      drainMs: resync.drainMs ?? null,
      restartDrainMs: resync.restartDrainMs ?? null,
      requests: resync.requests ?? null,
    },
    waits,
    worstWaitMs: worstWaitMs ?? null,
    waitGrowth: waitGrowth ?? null,
    isGivenUp: prediction.isGivenUp,
    constraint: { ...constraint, sentence: constraintSentence(prediction) },
    controllerLoad: prediction.controllerLoad,
  };
}

function questionFields({ counts, settings, seed }: Question) {
  return {
    counts: { ...counts, writesPerSecond: counts.writesPerSecond ?? null },
    settings,
    arguments: argumentsOf(settings),
    seed,
  };
}
