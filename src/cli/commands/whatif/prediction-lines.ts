// A prediction for people: what was asked, how long changes wait, what a resync costs, what becomes
// of nodes, what the API server is asked, and what holds it all up. Pure; fits 80 columns.

import { durationText } from "../../../environment/duration-text.ts";
import { type ByVerb, verbs } from "../../../lab/probe/request-counters.ts";
import { shortDuration } from "../../../lab/whatif/inputs.ts";
import type { Prediction, PublishingPrediction } from "../../../lab/whatif/prediction.ts";
import type { ChangeWaits, Waits } from "../../../lab/whatif/waits.ts";
import { hasP99 } from "../../../timeline/percentile.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Column, rowLines } from "../../terminal/table.ts";
import { numberText, percentText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { constraintLines } from "./constraint-lines.ts";
import { nodeLines } from "./node-lines.ts";
import { questionLines } from "./question-lines.ts";

export interface LineOptions {
  readonly width: number;
  readonly paint: Paint;
  /** What of the cluster was chosen to fit a write-up. */
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

/** In minutes where a second would be too small a number to read. */
export function growthText(secondsPerSecond: number): string {
  const isSlow = secondsPerSecond < 0.1;
  const ms = secondsPerSecond * (isSlow ? 60_000 : 1_000);
  return `the wait grows by ${durationText(ms)} every ${isSlow ? "minute" : "second"}.`;
}

/** Below a thousandth nobody cares how much. */
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

/** A sample does not tell more. */
function rateText(perSecond: number): string {
  return numberText(Number(perSecond.toFixed(perSecond >= 10 ? 0 : 2)));
}
