// The findings of `resync-storm`: figures beside the write-up and the real binaries, the effect on
// traffic, and the assumptions. Pure.
import { elapsedMs } from "../../../environment/clock.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { Expectation, Figure } from "../figure.ts";
import type { IncidentFindings, Measure, Series } from "../incident.ts";
import { longestLagMs } from "../shop-observer.ts";
import { lagMeasure, lagSeries, lostSeries, requestMeasures } from "../usual-findings.ts";
import type { RaisedStorms, Storms } from "./play.ts";
import type { ResyncStormSettings } from "./settings.ts";
import type { Storm } from "./storm.ts";

export interface FindingsOptions extends ResyncStormSettings {
  readonly fix: boolean;
  /** Only the write-up's cluster has something to be compared with. */
  readonly isWriteUp: boolean;
}

const minuteMs = 60_000;

export function findingsOf(
  storms: Storms,
  options: FindingsOptions,
): Omit<IncidentFindings, "timeline"> {
  const figures = options.fix ? fixedFigures(storms, options) : figuresOf(storms, options);
  return {
    figures: options.isWriteUp ? figures : figures.map((one) => ({ ...one, expected: [] })),
    measures: measuresOf(storms),
    series: seriesOf(storms),
    fitted: fittedIn(options),
  };
}

function figuresOf(storms: Storms, options: FindingsOptions): readonly Figure[] {
  const { first, second, raised } = storms;
  const { headless, limits } = options;
  return [
    {
      ...puts(first, [
        writeUp("about 12,954", 12_954, 12_954),
        real("12,954 distinct", 12_954, 12_954),
      ]),
      fittedBy: `${headless.toLocaleString("en-US")} headless services`,
    },
    {
      id: "puts-per-headless-service",
      text: "PUTs per headless service",
      unit: "factor",
      measured: headless === 0 ? undefined : first.requests / headless,
      expected: [real("each exactly once", 1, 1)],
    },
    {
      id: "headless-services-written",
      text: "share of headless services written",
      unit: "share",
      measured: headless === 0 ? undefined : first.keys / headless,
      expected: [real("all, and no other", 1, 1)],
    },
    {
      id: "events-first-resync",
      text: "watch events of the first resync",
      unit: "count",
      measured: first.events,
      expected: [real("one per object", first.keys, first.keys)],
    },
    {
      id: "events-later-resync",
      text: "watch events of the second resync",
      unit: "count",
      measured: second.events,
      expected: [real("none", 0, 0)],
    },
    ...periodFigures(storms, options),
    drain("drain", "drain time", first, [
      writeUp("10–12 min", 10 * minuteMs, 12 * minuteMs),
      realTime("647–649 s", 648_000),
    ]),
    {
      id: "drain-rate",
      text: "PUT rate",
      unit: "per second",
      measured: first.rate,
      expected: [real("20.0", 19.8, 20.2, 20)],
      fittedBy: `--kube-api-qps=${limits.qps}`,
    },
    {
      id: "mean-work",
      text: "mean time per key",
      unit: "ms",
      measured: first.workMs,
      expected: [realTime("0.249 s", 249)],
    },
    {
      id: "throttled-share",
      text: "share of PUTs with a throttling log line",
      unit: "share",
      measured: first.throttledShare,
      expected: [real("about 98 %", 0.96, 1, 0.98)],
    },
    ...lagFigures(storms, options),
    ...(raised === undefined ? [] : raisedFigures(raised, options)),
  ];
}

/** With the fix no storm is left. */
function fixedFigures(storms: Storms, options: FindingsOptions): readonly Figure[] {
  return [
    { ...puts(storms.first, [writeUp("no storm", 0, 0), real("0", 0, 0)]), isHeadline: true },
    ...periodFigures(storms, options),
    ...lagFigures(storms, options),
  ];
}

function puts({ requests }: Storm, expected: readonly Expectation[]): Figure {
  return {
    id: "puts-per-resync",
    text: "PUTs per resync",
    unit: "requests",
    measured: requests,
    expected,
  };
}

/** The process draws its factor. Where the settings give it, both figures are that input. */
function periodFigures(
  { periodMs }: Storms,
  { minResyncMs, resyncFactor }: FindingsOptions,
): readonly Figure[] {
  const input = resyncFactor === undefined ? {} : { fittedBy: `resync factor ${resyncFactor}` };
  return [
    {
      id: "period",
      text: "time between two resyncs",
      unit: "ms",
      measured: periodMs,
      expected: [writeUp("16 h 20–30 min", 980 * minuteMs, 990 * minuteMs)],
      ...input,
    },
    {
      id: "period-factor",
      text: "this time ÷ the shortest period",
      unit: "factor",
      measured: periodMs / minResyncMs,
      expected: [writeUp("≈ 1.37", 1.36, 1.38, 1.37)],
      ...input,
    },
  ];
}

function lagFigures(storms: Storms, options: FindingsOptions): readonly Figure[] {
  const { quiet, during } = storms;
  const { fix } = options;
  return [
    {
      id: "published-lag-quiet",
      text: "wait of a change in quiet times",
      unit: "ms",
      measured: longestAt(quiet, "published"),
      expected: [quietWait],
    },
    {
      id: "published-lag-storm",
      text: "wait of a change in a resync",
      unit: "ms",
      measured: longestAt(during, "published"),
      // A change waits for the rest of the drain; the two minutes of the write-up were luck.
      expected: [
        fix ? quietWait : writeUp("2 min by luck, up to the drain", 2 * minuteMs, 12 * minuteMs),
      ],
    },
    ...(fix ? [] : waitByKeysAhead(storms, options)),
  ];
}

/** Virtual time has messages but no processor time, so a little less agrees as well. */
const quietWait = real("4–6 ms", 1, 6, 5);

/** With fewer keys ahead, the keys that are already in work would matter too much. */
const leastShareAhead = 0.1;

/**
 * Of the last release in the storm, whose key waits behind all others. When the storm is nearly over by
 * then, there is nothing to measure.
 */
function waitByKeysAhead(
  { behindAll, queue, instant }: Storms,
  { limits, services, headless }: FindingsOptions,
): readonly Figure[] {
  const [first] = behindAll.toSorted((one, other) => one.origin.at - other.origin.at);
  if (first === undefined) return [];
  const startedMs = instant.stageMs - elapsedMs(first.origin.at, instant.observer);
  const [lookedMs, depth] = queue[0]?.points.findLast(([atMs]) => atMs <= startedMs) ?? [
    startedMs,
    0,
  ];
  // Keys of services that are not headless cost no request; they are spread evenly in the queue.
  const ahead = (depth * headless) / services - ((startedMs - lookedMs) / 1_000) * limits.qps;
  const lagMs = longestAt([first], "published");
  if (lagMs === undefined || ahead < leastShareAhead * headless) return [];
  return [
    {
      id: "wait-by-keys-ahead",
      text: "wait of the last change ÷ (keys ahead ÷ qps)",
      unit: "factor",
      measured: lagMs / 1_000 / (ahead / limits.qps),
      expected: [real("depth ÷ qps", 0.98, 1.02, 1)],
    },
  ];
}

function raisedFigures(
  { restart, unbounded, bounded }: RaisedStorms,
  { headless, raised }: FindingsOptions,
): readonly Figure[] {
  const capacity = `${raised?.writesPerSecond} writes/s of the API server`;
  return [
    {
      id: "puts-at-restart",
      text: "PUTs when the controllers start",
      unit: "requests",
      measured: restart.requests,
      expected: [real("every key once, some twice", headless, 1.05 * headless)],
    },
    drain("drain-raised", "drain time with raised limits", unbounded, [realTime("128 s", 128_000)]),
    {
      ...drain("drain-raised-bounded", "drain time with raised limits and a slow server", bounded, [
        writeUp("about 5 min", 4.5 * minuteMs, 5.5 * minuteMs, 5 * minuteMs),
        realTime("305 s at 42.6/s", 305_000),
      ]),
      fittedBy: capacity,
    },
    {
      id: "mean-work-bounded",
      text: "mean time per key, slow server",
      unit: "ms",
      measured: bounded.workMs,
      expected: [realTime("0.703 s", 703)],
      fittedBy: capacity,
    },
    {
      id: "throttled-share-bounded",
      text: "share of PUTs with a throttling log line, slow server",
      unit: "share",
      measured: bounded.throttledShare,
      expected: [real("none", 0, 0)],
    },
  ];
}

function drain(
  id: string,
  text: string,
  { drainMs, constraint }: Storm,
  expected: readonly Expectation[],
): Figure {
  const isHeadline = id === "drain" && ({ isHeadline: true } as const);
  const named = `${text}, bottleneck: ${constraint}`;
  return { id, text: named, unit: "ms", measured: drainMs, expected, ...isHeadline };
}

/** With its bounds, and the number itself where it is one. */
function writeUp(text: string, from: number, to: number, value?: number): Expectation {
  return { source: "write-up", text, from, to, ...(value !== undefined && { value }) };
}

function real(text: string, from: number, to: number, value?: number): Expectation {
  return { ...writeUp(text, from, to, value), source: "real binaries" };
}

/** The real runs differed by less than a hundredth. */
function realTime(text: string, ms: number): Expectation {
  return real(text, 0.99 * ms, 1.01 * ms, ms);
}

function measuresOf({ during, tallies }: Storms): readonly Measure[] {
  return [lagMeasure(during, "leave"), lagMeasure(during, "join"), ...requestMeasures(tallies)];
}

function longestAt(journeys: readonly Journey[], hop: Hop): number | undefined {
  const lags = (["leave", "join"] as const)
    .map((direction) => longestLagMs(journeys, { direction, hop }))
    .filter((lag) => lag !== undefined);
  return lags.length === 0 ? undefined : Math.max(...lags);
}

function seriesOf({ queue, quiet, during, results, instant }: Storms): readonly Series[] {
  return [...queue, ...lagSeries([...quiet, ...during], instant), ...lostSeries(results, instant)];
}

function fittedIn(options: FindingsOptions): readonly string[] {
  const { services, headless, limits, resyncFactor, raised, fix } = options;
  const [all, some] = [services + 1, headless].map((count) => count.toLocaleString("en-US"));
  return [
    `${all} services, ${some} of them headless; ${limits.workers} workers, ` +
      `${limits.qps} requests a second, burst ${limits.burst}`,
    ...(resyncFactor === undefined
      ? []
      : [
          `a resync period of ${resyncFactor} times the shortest (the real process draws 1 to 2 times)`,
        ]),
    ...(raised === undefined || fix
      ? []
      : [
          `${raised.writesPerSecond} writes a second by the slow API server, in the last storm only`,
          `--min-resync-period=${raised.minResyncMs / minuteMs}m with the raised limits`,
        ]),
    "no leader election",
    "dead pods refuse connections; in the real incident connections timed out",
  ];
}
