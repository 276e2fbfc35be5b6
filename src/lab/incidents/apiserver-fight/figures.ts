// The findings of `apiserver-fight`: how the servers changed the list, and how late and how far apart
// the replicas received a release. Pure: every figure is read from a recorded run.
import { durationText } from "../../../environment/duration-text.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { SideName } from "../../comparison/side.ts";
import { emptyTally, type Tally } from "../../traffic/tally.ts";
import type { Expectation, Figure } from "../figure.ts";
import type { IncidentFindings, Measure, TimelineEntry } from "../incident.ts";
import { longestLagMs } from "../shop-observer.ts";
import { lagMeasure, requestMeasures } from "../usual-findings.ts";
import { listChanges, listedCounts, shareInTurn } from "./listed-servers.ts";
import type { FightRun } from "./play.ts";
import { type FightSettings, type Mechanism, writeUpSettings } from "./settings.ts";

/** Changes of the list are counted over a minute, as with the real binaries. */
const minuteMs = 60_000;

/** Replicas that are not further apart count as together. */
const togetherMs = 1_000;

const mechanismTexts: Readonly<Record<Mechanism, string>> = {
  "cut-off": "connections cut off",
  "lagging-cache": "a lagging watch cache",
};

/** "Up to ten minutes" was read from logs by people, so half of it more or less still agrees. */
const upToTenMinutes = { value: 10 * minuteMs, from: 5 * minuteMs, to: 15 * minuteMs };

/** `lagging` is the same with the second mechanism, where it was played. */
export function fightFindings(cutOff: FightRun, lagging?: FightRun): IncidentFindings {
  const { timeline, series } = cutOff;
  const figures = [...fightFigures(cutOff), ...latenessFigures(cutOff)];
  const assumptions = assumptionsOf(cutOff);
  if (lagging === undefined) {
    return { timeline, figures, measures: fightMeasures([cutOff]), series, fitted: assumptions };
  }
  return {
    timeline: [...timeline, ...again("with a lagging watch cache", lagging.timeline)],
    figures: [...figures, ...latenessFigures(lagging)],
    measures: fightMeasures([cutOff, lagging]),
    series,
    fitted: [
      ...assumptions,
      "two possible mechanisms, replayed one after the other; the report does not name one",
      "lagging cache: all three replicas watch the server that lags. A watch that ends may " +
        "reconnect to it and lag again, so 10 min is not an upper bound",
    ],
  };
}

export interface FixedRuns {
  readonly one: FightRun;
  readonly counted: FightRun;
  readonly leases: FightRun;
}

export function fixedFindings({ one, counted, leases }: FixedRuns): IncidentFindings {
  return {
    timeline: [
      ...one.timeline,
      summaryEntry("with the right count", counted, 2),
      summaryEntry("with leases", leases, 3),
    ],
    figures: [
      ...fixedFigures("one-server", "one server", one),
      ...fixedFigures("right-count", "the right count", counted),
      ...fixedFigures("leases", "leases", leases),
    ],
    measures: fightMeasures([one, counted, leases]),
    series: one.series,
    fitted: ["the count and the leases do not help against a server whose watch cache lags"],
  };
}

/** The timeline of a second stage. */
function again(how: string, timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return timeline.map(({ atMs, text }, index) => ({
    stage: 2,
    atMs,
    text: index === 0 ? `again, ${how}: ${text}` : text,
  }));
}

/** One line for a run that differs from the one before in a setting only. */
function summaryEntry(how: string, { journeys, period }: FightRun, stage: number): TimelineEntry {
  const { longestMs = 0, spreadMs = 0 } = lateness(journeys);
  const text =
    `the same ${how}: the releases reached the last stock replica after ` +
    `${durationText(longestMs)}, at most ${durationText(spreadMs)} after the first`;
  return { stage, atMs: period.toMs, text };
}

function assumptionsOf({ settings: { silence }, size }: FightRun): readonly string[] {
  const between = ({ minMs, maxMs }: FightSettings["silence"]) =>
    `${durationText(minMs)} to ${durationText(maxMs)}`;
  const bounds =
    size === "short"
      ? `real kernels take ${between(writeUpSettings.silence)}`
      : "drawn at random between the kernel's bounds";
  return [
    `a connection cut off by IPVS stays silent for ${between(silence)}, ${bounds}`,
    "connections to a server stay dead after it is listed again; some kernels revive them",
    "every watch has its own connection; with HTTP/2 all watches of a replica would stop together",
  ];
}

/** Figures of servers that overwrite each other's entry. */
function fightFigures(run: FightRun): readonly Figure[] {
  const { fewest, most } = listedCounts(settled(run));
  return [
    figure("addresses-listed-fewest", "fewest addresses of the kubernetes service", fewest, [
      real("1", 1, 1),
    ]),
    figure("addresses-listed-most", "most addresses of the kubernetes service", most, [
      real("1", 1, 1),
    ]),
    figure("owner-changes-per-60-s", "changes of these addresses in 60 s", changesPerMinute(run), [
      real("24", 24, 24),
    ]),
    {
      ...figure("owners-in-turn", "changes in strict turn", turns(run), [
        real("strictly round robin", 1, 1),
      ]),
      unit: "share",
    },
    figure("reset-lines-per-60-s", "log lines per server in 60 s", linesPerMinute(run), [
      { source: "write-up", text: "one every 10 s", from: 6, to: 6 },
    ]),
    {
      ...figure(
        "reset-line-spacing",
        "time between two log lines of a server",
        lineSpacingMs(run),
        [{ source: "write-up", text: "10.06–10.14 s" }, real("10.003–10.37 s", 10_000, 10_370)],
      ),
      unit: "ms",
    },
  ];
}

/**
 * How late the stock replicas were, and how far apart. A watch that ends may reconnect to the server
 * whose cache lags and lag again. The write-up's figure is no bound for that and is only shown.
 */
function latenessFigures(run: FightRun): readonly Figure[] {
  const { mechanism } = run.settings;
  const text = mechanismTexts[mechanism];
  const { longestMs, spreadMs } = lateness(run.journeys);
  const isBounded = mechanism === "cut-off";
  const { to } = upToTenMinutes;
  return [
    {
      ...milliseconds(
        `longest-lag-${mechanism}`,
        `slowest change at a stock proxy, ${text}`,
        longestMs,
        [{ source: "write-up", text: "up to 10 min", ...(isBounded ? upToTenMinutes : {}) }],
      ),
      ...(isBounded && { isHeadline: true }),
    },
    milliseconds(
      `lag-spread-${mechanism}`,
      `time from the first to the last proxy, ${text}`,
      spreadMs,
      [
        {
          source: "write-up",
          text: "three replicas, three delays",
          ...(isBounded ? { from: togetherMs, to } : {}),
        },
      ],
    ),
  ];
}

/** With a fix the list no longer changes, and the replicas are together. */
function fixedFigures(id: string, text: string, run: FightRun): readonly Figure[] {
  const { longestMs, spreadMs } = lateness(run.journeys);
  const together: Expectation = { source: "write-up", text: "almost at the same time" };
  return [
    figure(
      `owner-changes-per-60-s-${id}`,
      `changes of the addresses in 60 s, ${text}`,
      changesPerMinute(run),
      [],
    ),
    milliseconds(`longest-lag-${id}`, `slowest change at a stock proxy, ${text}`, longestMs, []),
    {
      ...milliseconds(
        `lag-spread-${id}`,
        `time from the first to the last proxy, ${text}`,
        spreadMs,
        [{ ...together, from: 0, to: togetherMs }],
      ),
      ...(id === "one-server" && { isHeadline: true }),
    },
  ];
}

/** Over all runs: requests are added up, and a lag is the longest of all. */
function fightMeasures(runs: readonly FightRun[]): readonly Measure[] {
  const journeys = runs.flatMap((run) => run.journeys);
  const sum = (side: SideName) =>
    runs.reduce((tally, { tallies }) => addTallies(tally, tallies[side]), emptyTally);
  return [
    lagMeasure(journeys, "leave"),
    lagMeasure(journeys, "join"),
    ...requestMeasures({ stock: sum("stock"), lockstep: sum("lockstep") }),
  ];
}

/** The longest lag of any stock replica, and the longest time between two replicas for one change. */
export function lateness(journeys: readonly Journey[]): {
  readonly longestMs: number | undefined;
  readonly spreadMs: number | undefined;
} {
  const leaves = longestLagMs(journeys, { direction: "leave", hop: "routed", witnesses: "stock-" });
  const joins = longestLagMs(journeys, { direction: "join", hop: "routed", witnesses: "stock-" });
  const spreads = journeys.map(({ hops }) => {
    const lags = hops.flatMap(({ hop, witness, state }) =>
      hop === "routed" && witness.startsWith("stock-") && state.type === "shown"
        ? [state.lagMs]
        : [],
    );
    return Math.max(...lags) - Math.min(...lags);
  });
  return {
    longestMs: leaves === undefined || joins === undefined ? undefined : Math.max(leaves, joins),
    spreadMs: spreads.length === 0 ? undefined : Math.max(...spreads),
  };
}

/** In the first minute after the setup. */
export function changesPerMinute({ history, period }: FightRun): number {
  const { fromMs } = period;
  return listChanges(history, { fromMs, toMs: fromMs + minuteMs });
}

function settled({ history, period }: FightRun): FightRun["history"] {
  return history.filter(({ atMs }) => atMs >= period.fromMs);
}

function turns(run: FightRun): number | undefined {
  return shareInTurn(settled(run), run.settings.servers);
}

function linesPerMinute({ resets, period }: FightRun): number | undefined {
  const { fromMs } = period;
  const counts = resets.map(
    (times) => times.filter((atMs) => atMs > fromMs && atMs <= fromMs + minuteMs).length,
  );
  return counts.length === 0 ? undefined : Math.min(...counts);
}

/** The mean over the whole run. */
function lineSpacingMs({ resets, period }: FightRun): number | undefined {
  const gaps = resets.flatMap((times) => {
    const own = times.filter((atMs) => atMs >= period.fromMs);
    return own.slice(1).map((atMs, index) => atMs - (own[index] ?? atMs));
  });
  return gaps.length === 0 ? undefined : gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
}

function addTallies(one: Tally, other: Tally): Tally {
  return {
    requests: one.requests + other.requests,
    served: one.served + other.served,
    lost: one.lost + other.lost,
    lostBy: {},
    sentToDead: one.sentToDead + other.sentToDead,
    deadTries: one.deadTries + other.deadTries,
    longestDeadMs: Math.max(one.longestDeadMs, other.longestDeadMs),
  };
}

function figure(
  id: string,
  text: string,
  measured: number | undefined,
  expected: readonly Expectation[],
): Figure {
  return { id, text, unit: "count", measured, expected };
}

function milliseconds(...fields: Parameters<typeof figure>): Figure {
  return { ...figure(...fields), unit: "ms" };
}

function real(text: string, from: number, to: number): Expectation {
  return { source: "real binaries", text, from, to };
}
