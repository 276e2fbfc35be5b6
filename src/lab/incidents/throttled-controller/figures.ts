// The figures of `throttled-controller`, beside the write-up's and those of the real binaries. Pure.
// Lags are the longest of all releases and replicas; requests have one denominator on both sides.
import type { Journey } from "../../../timeline/journey.ts";
import type { Direction } from "../../../timeline/witness.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { Figure } from "../figure.ts";
import type { IncidentFindings, Measure } from "../incident.ts";
import { longestLagMs } from "../shop-observer.ts";
import { lagMeasure, requestMeasures } from "../usual-findings.ts";
import type { Rounds } from "./play.ts";
import { releases, type ThrottledSettings, writeUpSettings } from "./settings.ts";

/** What a play recorded. */
export interface ThrottledPlay extends Pick<IncidentFindings, "timeline" | "series"> {
  /** Of all releases, complete. */
  readonly journeys: readonly Journey[];
  readonly stock: Tally;
  readonly lockstep: Tally;
  /** Undefined when the log has no line of throttling. */
  readonly loggedWaitMs: number | undefined;
  /** Keys in the endpoint queue, at each look. */
  readonly depths: readonly number[];
  /** Requests of the controller manager a second, at each look. */
  readonly rates: readonly number[];
}

/** What the same cluster does with other settings. */
export interface Compared {
  readonly few: Rounds;
  readonly many: Rounds;
  readonly saturatingServices: number;
}

export interface Circumstances extends ThrottledSettings {
  readonly isFixed: boolean;
  readonly isLive: boolean;
  /** Undefined where only the releases were played. */
  readonly compared: Compared | undefined;
}

const directions: readonly Direction[] = ["leave", "join"];

export function throttledFindings(
  measures: ThrottledPlay,
  circumstances: Circumstances,
): IncidentFindings {
  const { journeys, stock, lockstep, timeline, series } = measures;
  const { isFixed, compared } = circumstances;
  return {
    figures: [
      ...directions.map((direction) => publishedFigure(journeys, direction, circumstances)),
      ...(isFixed ? fixedFigures(measures) : throttledFigures(measures, circumstances)),
      ...(compared === undefined ? [] : comparedFigures(compared, circumstances)),
    ],
    measures: [
      ...directions.map((direction): Measure => lagMeasure(journeys, direction)),
      ...requestMeasures({ stock, lockstep }),
    ],
    timeline,
    series,
    fitted: assumptionsOf(circumstances),
  };
}

function assumptionsOf({ services, workers, isFixed, isLive }: Circumstances): readonly string[] {
  const usual = writeUpSettings.services.toLocaleString("en-US");
  return [
    isLive
      ? `${services} services, so that it is short (${usual} in simulated time)`
      : `${services.toLocaleString("en-US")} services`,
    `${workers} endpoint workers (from the wait in the log: workers ÷ qps)`,
    `${releases} releases, half a round of the queue apart, so that one of them waits for at least ` +
      "half a round",
    "dead pods refuse connections; in the real incident connections timed out",
    ...(isFixed
      ? [
          "in the real incident no throttling log line was left; here requests still wait about 0.1 s",
        ]
      : []),
  ];
}

/** Lockstep does not wait for what is published, so that hop is stock's alone. */
function publishedFigure(
  journeys: readonly Journey[],
  direction: Direction,
  { isFixed, services }: Circumstances,
): Figure {
  return {
    id: `longest-${direction}-lag-at-published`,
    text: `longest ${direction} lag, published`,
    unit: "ms",
    measured: longestLagMs(journeys, { direction, hop: "published" }),
    ...(isFixed
      ? { expected: [{ source: "write-up", text: "at once", from: 0, to: atOnceMs }] }
      : {
          expected: [{ source: "write-up", text: "30 s to 2 min", from: leastLagMs, to: 120_000 }],
          fittedBy: `${services.toLocaleString("en-US")} services and the moments of the releases`,
        }),
    ...(direction === "leave" && { isHeadline: true }),
  };
}

/** The write-up's shortest. */
const leastLagMs = 30_000;

/** A round of the write-up's size takes 1,600 ÷ 300 s with its fix, and a change waits for less. */
const atOnceMs = 5_300;

/** Joins are as late as leaves: half of what one waits for may have passed when the other begins. */
const asLate = { from: 0.8, to: 1.25 };

function throttledFigures(
  { journeys, loggedWaitMs }: ThrottledPlay,
  { services, workers, limits }: Circumstances,
): readonly Figure[] {
  const qps = limits["kube-api-qps"];
  const lag = (direction: Direction) => longestLagMs(journeys, { direction, hop: "published" });
  const [leave, join] = [lag("leave"), lag("join")];
  const roundMs = (services / qps) * 1_000;
  return [
    {
      id: "longest-lag-in-rounds",
      text: "wait in the queue ÷ (services ÷ qps)",
      unit: "factor",
      // Out of the queue, its GET and its PUT wait for the limiter as long as the log says.
      measured:
        leave === undefined || loggedWaitMs === undefined
          ? undefined
          : (leave - 2 * loggedWaitMs) / roundMs,
      expected: [{ source: "real binaries", text: "at most 1", from: leastLagMs / roundMs, to: 1 }],
    },
    {
      id: "join-lag-by-leave-lag",
      text: "join lag ÷ leave lag",
      unit: "factor",
      measured: leave === undefined || join === undefined ? undefined : join / leave,
      expected: [{ source: "write-up", text: "both late", ...asLate }],
    },
    {
      id: "longest-logged-wait",
      text: "longest wait in a log line",
      unit: "ms",
      measured: loggedWaitMs,
      expected: [{ source: "write-up", text: "2.49 s", value: 2_490, from: 2_400, to: 2_600 }],
      fittedBy: `${workers} workers`,
    },
  ];
}

/** The other side of the fix: the API server has more to do. */
function fixedFigures({ loggedWaitMs, depths, rates }: ThrottledPlay): readonly Figure[] {
  const empty = depths.filter((depth) => depth === 0).length;
  return [
    {
      id: "longest-logged-wait",
      text: "longest wait in a log line",
      unit: "ms",
      measured: loggedWaitMs,
      expected: [{ source: "write-up", text: "none left" }],
    },
    {
      id: "empty-queue-share",
      text: "time with an empty queue",
      unit: "share",
      measured: depths.length === 0 ? undefined : empty / depths.length,
      expected: [],
    },
    {
      id: "highest-request-rate",
      text: "highest rate of requests",
      unit: "per second",
      measured: rates.length === 0 ? undefined : Math.max(...rates),
      expected: [{ source: "write-up", text: "more load" }],
    },
  ];
}

function comparedFigures(
  { few, many, saturatingServices }: Compared,
  { workers }: Circumstances,
): readonly Figure[] {
  const change =
    few.turnMs === undefined || many.turnMs === undefined
      ? undefined
      : (many.turnMs - few.turnMs) / few.turnMs;
  return [
    {
      id: "longest-logged-wait-few-workers",
      text: "the same with 5 workers",
      unit: "ms",
      measured: few.loggedWaitMs,
      expected: [{ source: "real binaries", text: "0.25 s", value: 250, from: 240, to: 260 }],
    },
    {
      id: "turn-few-workers",
      text: "wait of a service, 5 workers",
      unit: "ms",
      measured: few.turnMs,
      expected: [],
    },
    {
      id: "workers-effect",
      text: `change of it with ${workers} workers`,
      unit: "share",
      measured: change,
      expected: [{ source: "write-up", text: "little effect", from: -0.1, to: 0.1 }],
    },
    {
      id: "saturating-services",
      text: "services that saturate it",
      unit: "count",
      measured: saturatingServices,
      expected: [{ source: "real binaries", text: "about 600", value: 600, from: 570, to: 630 }],
    },
  ];
}
