// What the incident `resync-storm` comes out as: figures beside those of the write-up and of the real
// binaries, what it meant for traffic, and what had to be fitted. Pure.
import type { Journey } from "../../../journeys/journey.ts";
import type { Hop } from "../../../journeys/witness.ts";
import type { Expectation, Figure, IncidentFindings, Measure, Series } from "../incident.ts";
import { longestLagMs } from "../shop-observer.ts";
import { lagMeasure, requestMeasures } from "../usual-measures.ts";
import { lagSeries, lostSeries } from "../usual-series.ts";
import type { ResyncStormOptions } from "./resync-storm-options.ts";
import type { JudgedStorm, RaisedStorms, Storms } from "./resync-storm-play.ts";

export interface FindingsOptions extends ResyncStormOptions {
  readonly fix: boolean;
  /** Another cluster than the write-up's has nothing to be compared with. */
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
  return [
    puts(first, [
      writeUp("about 12,954", 12_825, 13_083, 12_954),
      real("12,954, all different", 12_954, 12_954),
    ]),
    {
      id: "objects-per-resync",
      text: "different objects among them",
      unit: "count",
      measured: first.keys,
      expected: [real("12,954", 12_954, 12_954)],
    },
    {
      id: "events-first-resync",
      text: "watch events of the first resync",
      unit: "count",
      measured: first.events,
      expected: [real("one per object", 0.99 * first.keys, first.keys, first.keys)],
    },
    {
      id: "events-later-resync",
      text: "watch events of the second",
      unit: "count",
      measured: second.events,
      expected: [real("none", 0, 0)],
    },
    ...periodFigures(storms, options),
    drain("drain", "drain time", first, [
      writeUp("10–12 min", 10 * minuteMs, 12 * minuteMs),
      real("647–649 s", 627_000, 666_000, 648_000),
    ]),
    {
      id: "drain-rate",
      text: "PUTs a second",
      unit: "per second",
      measured: first.rate,
      expected: [real("20.0", 19.5, 20.5, 20)],
    },
    {
      id: "mean-work",
      text: "a worker is at a key for",
      unit: "ms",
      measured: first.workMs,
      expected: [real("0.249 s", 240, 260, 249)],
    },
    {
      id: "throttled-share",
      text: "PUTs with a throttling line",
      unit: "share",
      measured: first.throttledShare,
      expected: [real("about 98 %", 0.95, 1, 0.98)],
    },
    ...lagFigures(storms),
    ...(raised === undefined ? [] : raisedFigures(raised)),
  ];
}

/** What remains of the storm with the fix. */
function fixedFigures(storms: Storms, options: FindingsOptions): readonly Figure[] {
  return [
    puts(storms.first, [writeUp("no storm", 0, 0), real("0", 0, 0)]),
    ...periodFigures(storms, options),
    ...lagFigures(storms),
  ];
}

function puts({ requests }: JudgedStorm, expected: readonly Expectation[]): Figure {
  return {
    id: "puts-per-resync",
    text: "PUTs per resync",
    unit: "requests",
    measured: requests,
    expected,
    isHeadline: true,
  };
}

function periodFigures({ periodMs }: Storms, { minResyncMs }: FindingsOptions): readonly Figure[] {
  return [
    {
      id: "period",
      text: "between two resyncs",
      unit: "ms",
      measured: periodMs,
      expected: [writeUp("16 h 20–30 min", 980 * minuteMs, 990 * minuteMs)],
    },
    {
      id: "period-factor",
      text: "of the shortest period",
      unit: "factor",
      measured: periodMs / minResyncMs,
      expected: [writeUp("≈ 1.37", 1.36, 1.38, 1.37)],
    },
  ];
}

function lagFigures({ quiet, during, first }: Storms): readonly Figure[] {
  return [
    {
      id: "published-lag-quiet",
      text: "a change waits in quiet times",
      unit: "ms",
      measured: longestAt(quiet, "published"),
      expected: [real("4–6 ms", 0, 100, 5)],
    },
    {
      id: "published-lag-storm",
      text: "a change waits in a resync",
      unit: "ms",
      measured: longestAt(during, "published"),
      expected:
        first.requests === 0
          ? []
          : [writeUp("2 min by luck, up to the drain", 0, first.drainMs + minuteMs)],
    },
  ];
}

function raisedFigures({ restart, unbounded, bounded }: RaisedStorms): readonly Figure[] {
  return [
    {
      id: "puts-at-restart",
      text: "PUTs when the process starts",
      unit: "requests",
      measured: restart.requests,
      expected: [real("every key once, and some twice", 12_954, 13_500)],
    },
    drain("drain-raised", "drain time, raised limits", unbounded, [
      real("128 s", 124_000, 132_000, 128_000),
    ]),
    drain("drain-raised-bounded", "the same, bounded server", bounded, [
      writeUp("about 5 min", 4.5 * minuteMs, 5.5 * minuteMs, 5 * minuteMs),
      real("305 s at 42.6/s", 295_000, 315_000, 305_000),
    ]),
    {
      id: "mean-work-bounded",
      text: "and a worker is at a key for",
      unit: "ms",
      measured: bounded.workMs,
      expected: [real("0.703 s", 680, 730, 703)],
    },
    {
      id: "throttled-share-bounded",
      text: "and PUTs with a throttling line",
      unit: "share",
      measured: bounded.throttledShare,
      expected: [real("none", 0, 0)],
    },
  ];
}

function drain(
  id: string,
  text: string,
  { drainMs, constraint }: JudgedStorm,
  expected: readonly Expectation[],
): Figure {
  return { id, text: `${text}, ${constraint} binds`, unit: "ms", measured: drainMs, expected };
}

/** The bounds, and the number that was seen where it is one. */
function writeUp(text: string, from: number, to: number, value?: number): Expectation {
  return { source: "write-up", text, from, to, ...(value !== undefined && { value }) };
}

function real(text: string, from: number, to: number, value?: number): Expectation {
  return { ...writeUp(text, from, to, value), source: "real binaries" };
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

function seriesOf({ depths, rates, quiet, during, results, instant }: Storms): readonly Series[] {
  return [
    { id: "queue-depth", text: "keys in the endpoint queue", unit: "count", points: depths },
    { id: "puts", text: "PUTs of Endpoints a second", unit: "per second", points: rates },
    ...lagSeries([...quiet, ...during], instant),
    ...lostSeries(results, instant),
  ];
}

function fittedIn({ resyncFactor, raised, fix }: FindingsOptions): readonly string[] {
  return [
    ...(resyncFactor === undefined
      ? []
      : [`a resync period ${resyncFactor} times the shortest: the real process draws 1 to 2`]),
    ...(raised === undefined || fix
      ? []
      : [
          `${raised.writesPerSecond} writes a second of the API server, for the bounded storm only`,
          `--min-resync-period=${raised.minResyncMs / minuteMs}m while the limits are raised`,
        ]),
    "no leader election: its renewals have no part in it",
    "dead pods refuse at once, where the write-up's connections timed out",
  ];
}
