// The what-if part of the page: the inputs with their ranges, a question as the lab takes it, and a
// prediction as the page shows it, with the sentences of `lockstep whatif`. Pure.
import { durationText } from "../../../../environment/duration-text.ts";
import { verbs } from "../../../../lab/probe/request-counters.ts";
import { profileNames } from "../../../../lab/versions/profiles.ts";
import { type InputKey, inputNamed, rangeText } from "../../../../lab/whatif/inputs.ts";
import type { Prediction, PublishingTrace } from "../../../../lab/whatif/prediction.ts";
import type { Question } from "../../../../lab/whatif/question.ts";
import type { Waits } from "../../../../lab/whatif/waits.ts";
import type { Series, WhatIfAnswer, WhatIfInputs, WhatIfQuestion } from "../../../../server/api.ts";
import { hasP99 } from "../../../../timeline/percentile.ts";
import { numberText } from "../../../terminal/value-text.ts";
import { examplePreset, presetVersion, questionOf } from "../../whatif/question.ts";
import { argumentsOf, flapsText, predictionNotes, rateText, spread } from "../../whatif/view.ts";

interface PageInput {
  readonly key: InputKey;
  readonly text: string;
  readonly min: number;
  /** Below the bound of the command, so that an answer takes seconds and not minutes. */
  readonly max: number;
  readonly isLogarithmic: boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const pageInputs: readonly PageInput[] = [
  { key: "services", text: "services", min: 10, max: 15_000, isLogarithmic: true },
  {
    key: "headless-share",
    text: "share of headless services",
    min: 0,
    max: 1,
    isLogarithmic: false,
  },
  { key: "churn", text: "pod changes a second", min: 0, max: 50, isLogarithmic: false },
  { key: "qps", text: "--kube-api-qps", min: 1, max: 1_000, isLogarithmic: true },
  { key: "burst", text: "--kube-api-burst", min: 1, max: 2_000, isLogarithmic: true },
  { key: "workers", text: "--concurrent-endpoint-syncs", min: 1, max: 200, isLogarithmic: true },
  {
    key: "resync",
    text: "--min-resync-period",
    min: minuteMs,
    max: 48 * hourMs,
    isLogarithmic: true,
  },
  {
    key: "batch-period",
    text: "--endpoint-updates-batch-period",
    min: 0,
    max: 10_000,
    isLogarithmic: false,
  },
  {
    key: "grace-period",
    text: "--node-monitor-grace-period",
    min: 10_000,
    max: 5 * minuteMs,
    isLogarithmic: true,
  },
];

/** Every answer repeats from it. */
const seed = 1;

const firstVersion = presetVersion(examplePreset);

/** Fewer than in the example of the command, so that the first answer comes soon. */
const firstServices = 3_000;

/** The example of `lockstep whatif`, to begin with something to see. */
export function whatIfInputs(): WhatIfInputs {
  const given = { services: firstServices };
  const example = questionOf({ preset: examplePreset, given, seed });
  return {
    inputs: pageInputs.map(({ key, text, min, max, isLogarithmic }) => {
      const input = known(key);
      const { unit } = input;
      return {
        key,
        text,
        unit: unit === "duration" ? "ms" : unit === "count" ? "" : unit,
        min,
        max,
        value: input.of(example) ?? min,
        isLogarithmic,
      };
    }),
    versions: [firstVersion, ...profileNames.filter((name) => name !== firstVersion)],
  };
}

/** A value that the page does not offer. The message has the range. */
export class WhatIfValueError extends Error {
  override readonly name = "WhatIfValueError";
  readonly code = "WHAT_IF_VALUE";
}

/** Throws `WhatIfValueError`, or the `UsageError` of values that contradict each other. */
export function whatIfQuestion({ version, values }: WhatIfQuestion): Question {
  const profile = profileNames.find((name) => name === version);
  if (profile === undefined) {
    throw new WhatIfValueError(`version must be one of ${profileNames.join(", ")}.`);
  }
  const given: Partial<Record<InputKey, number>> = {};
  for (const [key, value] of Object.entries(values)) {
    const input = pageInputs.find((one) => one.key === key);
    if (input === undefined) {
      throw new WhatIfValueError(
        `there is no input ${key.slice(0, 32)}; the inputs are ` +
          `${pageInputs.map((one) => one.key).join(", ")}.`,
      );
    }
    given[input.key] = checked(input, value);
  }
  return questionOf({ given, version: profile, seed });
}

function checked({ key, min, max }: PageInput, value: number): number {
  const input = { ...known(key), from: min, to: max };
  const rounded = input.unit === "count" ? Math.round(value) : value;
  if (rounded >= min && rounded <= max) return rounded;
  throw new WhatIfValueError(`${key} must be ${rangeText(input)}.`);
}

function known(key: InputKey) {
  const input = inputNamed(key);
  if (input === undefined) throw new Error(`there is no input ${key}`);
  return input;
}

export function whatIfAnswer(prediction: Prediction): WhatIfAnswer {
  return {
    figures: [
      ...waitFigures(prediction),
      ...resyncFigures(prediction),
      ...otherFigures(prediction),
    ],
    progress: null,
    charts: chartsOf(prediction.trace),
    notes: [...predictionNotes(prediction)],
    flags: argumentsOf(prediction.question.settings).join(" "),
  };
}

type Figure = NonNullable<WhatIfAnswer["figures"]>[number];

function waitFigures({ waits, worstWaitMs }: Prediction): readonly Figure[] {
  const rows: readonly (readonly [string, string, Waits | undefined])[] = [
    ["any", "wait at a random time", waits.anyMoment],
    ["resync", "wait during a resync", waits.resync],
    ["quiet", "wait without a resync", waits.quiet],
    ["restart", "wait during a restart", waits.restart],
  ];
  return [
    duration("wait-longest", "longest wait of a change", worstWaitMs, "grows"),
    ...rows.flatMap(([id, text, row]) =>
      row === undefined
        ? []
        : [
            duration(`wait-${id}-p50`, `${text}, p50`, row.p50Ms),
            ...(hasP99(row.changes) ? [duration(`wait-${id}-p99`, `${text}, p99`, row.p99Ms)] : []),
          ],
    ),
  ];
}

function resyncFigures({ resync, waitGrowth }: Prediction): readonly Figure[] {
  const never = waitGrowth === undefined ? "not before the next one" : "never";
  return [
    duration("drain", "a resync of all services is finished after", resync.drainMs, never),
    duration("restart-drain", "a restart is finished after", resync.restartDrainMs, never),
    ...(resync.requests === undefined
      ? []
      : [plain("resync-requests", "requests of one resync", numberText(resync.requests))]),
  ];
}

function otherFigures({ nodes, load }: Prediction): readonly Figure[] {
  const total = (rates: Prediction["load"]["mean"]) =>
    verbs.reduce((sum, verb) => sum + rates[verb], 0);
  return [
    plain("flaps", "a healthy node is marked lost", flapsText(nodes.flapsPerHour)),
    deadNode(nodes.noticed),
    plain("load-mean", "requests at the API server", rateText(total(load.mean)), "a second"),
    plain("load-peak", "in the busiest second", rateText(total(load.peak)), "requests"),
  ];
}

function deadNode(noticed: Prediction["nodes"]["noticed"]): Figure {
  const text = "a dead node is marked lost after";
  if (noticed === undefined) return plain("dead-node", text, spread(noticed));
  const { p50Ms, maxMs } = noticed;
  return plain("dead-node", text, durationText(p50Ms), `at most ${durationText(maxMs)}`);
}

function duration(id: string, text: string, ms: number | undefined, otherwise = "–"): Figure {
  return plain(id, text, ms === undefined ? otherwise : durationText(ms));
}

function plain(id: string, text: string, value: string, unit = ""): Figure {
  return { id, text, value, unit };
}

/** More are no help in a chart of this width. */
const pointsMax = 600;

/** Times are those of the simulation. */
function chartsOf({ depths, waits }: PublishingTrace): Series[] {
  const none = { cluster: null, side: null, direction: null, limit: null };
  return [
    {
      id: "whatif-queue",
      chart: "queue",
      title: "services in the queue of the controllers, without the idle hours between resyncs",
      unit: "count",
      hop: null,
      ...none,
      points: thinned(depths),
    },
    {
      id: "whatif-wait",
      chart: "wait",
      title: "wait of a change, by its time",
      unit: "ms",
      hop: "published",
      ...none,
      points: thinned(waits),
    },
  ];
}

function thinned(points: readonly (readonly [number, number])[]): [number, number][] {
  const step = Math.ceil(points.length / pointsMax);
  return points.filter((_, index) => index % step === 0).map(([atMs, value]) => [atMs, value]);
}
