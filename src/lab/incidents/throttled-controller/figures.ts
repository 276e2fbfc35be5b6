// The findings of `throttled-controller`, beside the write-up and the real binaries. Pure. Lags are the
// longest of all releases and replicas; both sides get the same requests.
import type { Journey } from "../../../timeline/journey.ts";
import type { Direction } from "../../../timeline/witness.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { Figure } from "../figure.ts";
import type { IncidentFindings, Measure } from "../incident.ts";
import { longestLagMs } from "../shop-observer.ts";
import { lagMeasure, requestMeasures } from "../usual-findings.ts";
import type { Rounds } from "./play.ts";
import { releases, type ThrottledSettings, writeUpSettings } from "./settings.ts";

/** The record of a play. */
export interface ThrottledPlay extends Pick<IncidentFindings, "timeline" | "series"> {
  /** Of all releases, complete. */
  readonly journeys: readonly Journey[];
  readonly stock: Tally;
  readonly lockstep: Tally;
  /** Undefined when the log has no throttling line. */
  readonly loggedWaitMs: number | undefined;
  /** Keys in the endpoint queue, at each look. */
  readonly depths: readonly number[];
  /** Requests of the controller manager a second, at each look. */
  readonly rates: readonly number[];
}

/** The same cluster with other settings. */
export interface Compared {
  readonly few: Rounds;
  readonly many: Rounds;
  readonly saturatingServices: number;
}

export interface Circumstances extends ThrottledSettings {
  readonly isFixed: boolean;
  readonly isShort: boolean;
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

function assumptionsOf({ services, workers, isFixed, isShort }: Circumstances): readonly string[] {
  const usual = writeUpSettings.services.toLocaleString("en-US");
  return [
    isShort
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

/** Lockstep does not wait for Endpoints, so this lag concerns stock only. */
function publishedFigure(
  journeys: readonly Journey[],
  direction: Direction,
  { isFixed, services }: Circumstances,
): Figure {
  return {
    id: `longest-${direction}-lag-at-published`,
    text: `slowest ${direction === "leave" ? "removal from" : "addition to"} Endpoints`,
    unit: "ms",
    measured: longestLagMs(journeys, { direction, hop: "published" }),
    ...(isFixed
      ? { expected: [{ source: "write-up", text: "at once", from: 0, to: atOnceMs }] }
      : {
          expected: [{ source: "write-up", text: "30 s to 2 min", from: leastLagMs, to: 120_000 }],
          fittedBy: `${services.toLocaleString("en-US")} services and the times of the releases`,
        }),
    ...(direction === "leave" && { isHeadline: true }),
  };
}

/** The write-up's shortest. */
const leastLagMs = 30_000;

/** With the fix a round of 1,600 services takes 1,600 ÷ 300 s, and a change waits for less. */
const atOnceMs = 5_300;

/** Additions are about as late as removals; a removal starts some seconds after its addition. */
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
      // After the queue, its GET and its PUT wait for the limiter as long as the log shows.
      measured:
        leave === undefined || loggedWaitMs === undefined
          ? undefined
          : (leave - 2 * loggedWaitMs) / roundMs,
      expected: [{ source: "real binaries", text: "at most 1", from: leastLagMs / roundMs, to: 1 }],
    },
    {
      id: "join-lag-by-leave-lag",
      text: "addition lag ÷ removal lag",
      unit: "factor",
      measured: leave === undefined || join === undefined ? undefined : join / leave,
      expected: [{ source: "write-up", text: "both are late", ...asLate }],
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

/** The price of the fix is more load on the API server. */
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
      text: "share of time with an empty queue",
      unit: "share",
      measured: depths.length === 0 ? undefined : empty / depths.length,
      expected: [],
    },
    {
      id: "highest-request-rate",
      text: "highest request rate",
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
      text: "longest wait in a log line, 5 workers",
      unit: "ms",
      measured: few.loggedWaitMs,
      expected: [{ source: "real binaries", text: "0.25 s", value: 250, from: 240, to: 260 }],
    },
    {
      id: "turn-few-workers",
      text: "mean time of a service in the queue, 5 workers",
      unit: "ms",
      measured: few.turnMs,
      expected: [],
    },
    {
      id: "workers-effect",
      text: `change of this time with ${workers} workers`,
      unit: "share",
      measured: change,
      expected: [{ source: "write-up", text: "little effect", from: -0.1, to: 0.1 }],
    },
    {
      id: "saturating-services",
      text: "services that saturate the queue",
      unit: "count",
      measured: saturatingServices,
      expected: [{ source: "real binaries", text: "about 600", value: 600, from: 570, to: 630 }],
    },
  ];
}
