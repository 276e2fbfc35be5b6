// Everything `lockstep whatif --json` prints, as one versioned document. Pure.
import type { InputKey } from "../../../lab/whatif/inputs.ts";
import type { Prediction, PublishingPrediction } from "../../../lab/whatif/prediction.ts";
import type { Question } from "../../../lab/whatif/question.ts";
import type { SweepRow } from "../../../lab/whatif/sweep.ts";
import type { TargetAnswer, Try } from "../../../lab/whatif/target.ts";
import { constraintSentence } from "./constraint-lines.ts";
import { argumentsOf } from "./question-lines.ts";

const head = { kind: "lockstep-whatif", version: 1 } as const;

export function predictionDocument(prediction: Prediction): object {
  const { nodes, load } = prediction;
  return { ...head, ...publishingFields(prediction), nodes, load };
}

export function targetDocument(question: Question, answer: TargetAnswer): object {
  const { targetMs, tries, found, cheaper } = answer;
  return {
    ...head,
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
    ...head,
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
