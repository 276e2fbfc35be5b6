// What binds, in one word, with the measurements that say so and what would help. Pure.

import { durationText } from "../../../environment/duration-text.ts";
import type { ConstraintEvidence, ConstraintName } from "../../../lab/probe/constraint.ts";
import type { PublishingPrediction } from "../../../lab/whatif/prediction.ts";
import type { Settings } from "../../../lab/whatif/question.ts";
import { numberText, percentText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import type { LineOptions } from "./prediction-lines.ts";

export function constraintLines(
  prediction: PublishingPrediction,
  { width, paint }: LineOptions,
): readonly string[] {
  const { name } = prediction.constraint;
  const paintName = name === "none" ? paint.lockstep : paint.late;
  const wrapped = (text: string) => wrapText(text, { width, first: "  ", rest: "  " });
  return [
    `${paint.strong("Bottleneck:")} ${paintName(name)}`,
    ...wrapped(constraintSentence(prediction)),
    ...wrapped(advice[name]).map(paint.secondary),
  ];
}

export function constraintSentence({ constraint, question }: PublishingPrediction): string {
  return sentences[constraint.name](constraint.evidence, question.settings);
}

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

const advice: Readonly<Record<ConstraintName, string>> = {
  limiter: "More workers would not help; a higher --kube-api-qps would.",
  server: "Higher limits and more workers would not help; fewer writes would.",
  workers: "A higher --kube-api-qps would not help; more --concurrent-endpoint-syncs would.",
  none: "No setting here would make it faster.",
};

/** A short queue is over before the burst has ceased to matter. */
function allowedText({ requestsPerSecond }: ConstraintEvidence, qps: number): string {
  const isBurst = requestsPerSecond > burstMattersFrom * qps;
  return `allowed ${numberText(qps)}${isBurst ? " plus the burst" : ""}`;
}

/** So far above the limit nobody takes it for a measurement's noise. */
const burstMattersFrom = 1.05;

function rate({ requestsPerSecond }: ConstraintEvidence): string {
  return numberText(Number(requestsPerSecond.toPrecision(3)));
}

/** A share to the tenth of a percent. */
function round(share: number): number {
  return Math.round(share * 1000) / 1000;
}
