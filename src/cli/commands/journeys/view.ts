// Prints changes from the history in the columns of `lockstep watch`, with a line between days, and
// their statistics.

import { nearestNames } from "../../../decide/nearest-names.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { HistoryQuery } from "../../../history/history-query.ts";
import type { HistoryReader } from "../../../history/history-reader.ts";
import { isFirstReported } from "../../../timeline/first-reported.ts";
import type { HopState, HopTime, Journey, LagRange, Outcome } from "../../../timeline/journey.ts";
import {
  type HopRecord,
  type JourneyRecord,
  monotonicAt,
  type ObserverRun,
  type RangeRecord,
} from "../../../timeline/journey-record.ts";
import { measuredLagMs } from "../../../timeline/lag-bound.ts";
import { LagFigures } from "../../../timeline/lag-figures.ts";
import { p99Of } from "../../../timeline/percentile.ts";
import { type Direction, type Hop, hops } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import { rightText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import { changeColumns, changeLine, headLine, shownHops } from "../watch/change-line.ts";
import {
  directionNameColumns,
  directionNames,
  isPodLate,
  lagCell,
  outcomeReasons,
  paintTone,
  unknownSign,
} from "../watch/hop-cell.ts";

interface ListOptions {
  readonly nowMs: WallMs;
  readonly width: number;
  readonly slowMs: number;
  readonly utc: boolean;
  readonly paint: Paint;
}

export function journeyList(
  records: readonly JourneyRecord[],
  tally: KeptTally,
  options: ListOptions,
): readonly string[] {
  const { nowMs, width, paint, utc } = options;
  const journeys = records.map(keptJourney);
  const columns = changeColumns({
    width,
    hops: shownHops({
      isWitnessed: (hop) => tally.isWitnessed(hop),
      wasPodLate: journeys.some((journey) => isPodLate(journey, options)),
    }),
    clusters: tally.clusters.map(visible),
  });
  const context = { ...options, run: keptRun, now: monotonicAt(nowMs, keptRun) };
  const today = dayOf(nowMs, utc);
  const days = records.map(({ originMs }) => dayOf(originMs, utc));
  return [
    headLine(columns, paint),
    ...journeys.flatMap((journey, at) => {
      const line = changeLine(journey, columns, context);
      const day = days[at];
      return day === undefined || day === (days[at - 1] ?? today)
        ? [line]
        : [paint.secondary(day), line];
    }),
  ];
}

/** `2026-03-01`. */
function dayOf(wallMs: WallMs, utc: boolean): string {
  const date = new Date(wallMs);
  const parts = utc
    ? [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
    : [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/**
 * Statistics of changes: number, outcomes and lags at each hop. It keeps no changes, so a history
 * of any size needs little memory.
 */
const directions: readonly Direction[] = ["leave", "join"];

const hopColumns = 9;
const countColumns = 9;
const figureColumns = 8;

/** Width with both directions side by side, and of the names otherwise. */
const besideColumns = hopColumns + 2 * (countColumns + 3 * figureColumns);
const belowColumns = hopColumns + 1 + directionNameColumns;

interface KeptTableOptions {
  readonly width: number;
  readonly slowMs: number;
  readonly paint: Paint;
}

export class KeptTally {
  #count = 0;
  #neverShown = 0;
  readonly #outcomes = new Map<Outcome, number>();
  readonly #lags = new Map<string, LagFigures>();
  readonly #witnessed = new Set<Hop>();
  readonly #clusters = new Set<string>();

  get count(): number {
    return this.#count;
  }

  get clusters(): readonly string[] {
    return [...this.#clusters];
  }

  isWitnessed(hop: Hop): boolean {
    return this.#witnessed.has(hop);
  }

  add(journey: Journey): void {
    this.#count += 1;
    this.#outcomes.set(journey.outcome, (this.#outcomes.get(journey.outcome) ?? 0) + 1);
    this.#clusters.add(journey.endpoint.cluster ?? unknownSign);
    if (journey.hops.some(({ state }) => state.type === "stuck")) this.#neverShown += 1;
    for (const one of journey.hops) {
      this.#witnessed.add(one.hop);
      const lagMs = isFirstReported(journey, one) ? undefined : measuredLagMs(one.state);
      if (lagMs !== undefined) this.#figures(one.hop, journey.direction).add(lagMs);
    }
  }

  /** `214 changes in the last 1h, 3 stuck and not shown yet, 2 superseded by …`. */
  sentence(when: string): string {
    const parts = [
      `${counted(this.#count, "change")} ${when}`,
      ...(this.#neverShown === 0 ? [] : [`${numberText(this.#neverShown)} stuck`]),
      ...outcomeReasons.flatMap(([outcome, words]) => {
        const count = this.#outcomes.get(outcome);
        return count === undefined ? [] : [`${numberText(count)} ${words}`];
      }),
    ];
    return `${parts.join(", ")}.`;
  }

  /** A row for each reported hop, removals beside additions, or below each other if narrow. */
  table(options: KeptTableOptions): readonly string[] {
    const { secondary } = options.paint;
    const names = ["p50", "p99", "max"].map((name) => rightText(name, figureColumns)).join("");
    const shown = hops.filter((hop) => this.isWitnessed(hop));
    if (options.width >= besideColumns) {
      const head = directions.map(
        (direction) => rightText(directionNames[direction], countColumns) + names,
      );
      return [
        secondary("hop".padEnd(hopColumns) + head.join("")),
        ...shown.map((hop) => {
          const figures = directions.map((direction) => this.#cells(hop, direction, options));
          return hop.padEnd(hopColumns) + figures.join("");
        }),
      ];
    }
    return [
      secondary("hop".padEnd(belowColumns) + rightText("changes", countColumns) + names),
      ...shown.flatMap((hop) =>
        directions.map(
          (direction) =>
            `${hop.padEnd(hopColumns)} ${directionNames[direction]}`.padEnd(belowColumns) +
            this.#cells(hop, direction, options),
        ),
      ),
    ];
  }

  #cells(hop: Hop, direction: Direction, { slowMs, paint }: KeptTableOptions): string {
    const lags = this.#lags.get(`${hop} ${direction}`);
    // The first request to an added address depends on the clients, so it is never slow.
    const isAsked = hop === "traffic" && direction === "join";
    const slowFrom = { slowMs: isAsked ? Number.POSITIVE_INFINITY : slowMs };
    const cells = [lags?.quantileMs(0.5), lags && p99Of(lags), lags?.maxMs].map((value) => {
      if (value === undefined) return paint.secondary(rightText("–", figureColumns));
      const { text, tone } = lagCell(value, slowFrom);
      return paintTone(paint, tone)(rightText(text, figureColumns));
    });
    return rightText(numberText(lags?.count ?? 0), countColumns) + cells.join("");
  }

  #figures(hop: Hop, direction: Direction): LagFigures {
    const key = `${hop} ${direction}`;
    const figures = this.#lags.get(key) ?? new LagFigures();
    this.#lags.set(key, figures);
    return figures;
  }
}

/** The filter that found no change. */
interface NothingAsked {
  /** All filters except the time. */
  readonly kind: HistoryQuery;
  /** `in the last 1h`. */
  readonly when: string;
  readonly hasEnd: boolean;
  readonly nowMs: WallMs;
}

type Reader = Pick<HistoryReader, "records">;

/** A history may have millions of changes; recent ones have the relevant names. */
const looksAtMost = 5_000;

/** A longer list is cut. */
const namesMost = 10;

export function nothingText(reader: Reader, { kind, when, hasEnd, nowMs }: NothingAsked): string {
  const latest = latestOf(reader, {});
  if (latest === undefined)
    return "The history is empty: no change has finished since it was created.";
  const matching = latestOf(reader, kind);
  const ago = (record: JourneyRecord) => durationText(Math.max(0, nowMs - record.originMs));
  if (matching !== undefined) {
    const asked = Object.keys(kind).length === 0 ? "change" : "matching change";
    const how = hasEnd ? "other values of --since and --until" : "an earlier --since";
    return `No ${asked} ${when}. The latest was ${ago(matching)} ago. Use ${how}.`;
  }
  return (
    unknownNameText(reader, "service", kind.service) ??
    unknownNameText(reader, "cluster", kind.cluster) ??
    `No matching change in the whole history. The latest change was ${ago(latest)} ago.`
  );
}

/** Undefined without this filter, or if the history has the name. */
function unknownNameText(
  reader: Reader,
  field: "service" | "cluster",
  asked: string | undefined,
): string | undefined {
  if (asked === undefined || latestOf(reader, { [field]: asked }) !== undefined) return undefined;
  const names = new Set<string>();
  for (const record of reader.records({}, { order: "latest first", limit: looksAtMost })) {
    const name = record[field];
    if (name !== null) names.add(name);
  }
  if (names.size === 0) return undefined;
  const near = nearestNames(asked, names);
  const others = near.length > 0 ? near : [...names].sort().slice(0, namesMost);
  const rest = near.length > 0 ? 0 : names.size - others.length;
  const listed = `${others.map(visible).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const found = near.length > 0 ? `Similar names: ${listed}.` : `Known names: ${listed}.`;
  return `The history has no change of ${field} ${visible(asked)}. ${found}`;
}

function latestOf(reader: Reader, query: HistoryQuery): JourneyRecord | undefined {
  const [latest] = reader.records(query, { order: "latest first", limit: 1 });
  return latest;
}

/** Uses wall time as monotonic time, because the observer's monotonic clock is not recorded. */
const keptRun = {
  name: "",
  wallMs: 0,
  monotonicMs: 0,
} as ObserverRun;

export function keptJourney(record: JourneyRecord): Journey {
  const { originMs, originNotBeforeMs, podUid, podName, cause, cluster, traffic } = record;
  const { service, address, port, direction, outcome } = record;
  return {
    // Not used for printing.
    id: 0,
    endpoint: {
      cluster: cluster ?? undefined,
      service,
      address,
      port,
      podUid: podUid ?? undefined,
    },
    podName: podName ?? undefined,
    direction,
    cause: cause ?? undefined,
    origin: {
      at: monotonicAt(originMs, keptRun),
      notBefore: instant(originNotBeforeMs),
      ...(record.originBeforeStart && { beforeStart: true }),
    },
    hops: record.hops.map(keptHop),
    outcome,
    ...(traffic && {
      traffic: {
        requests: traffic.requests,
        failed: traffic.failed,
        lastFailedAt: instant(traffic.lastFailedMs),
      },
    }),
  };
}

function keptHop({ hop, witness, ...rest }: HopRecord): HopTime {
  return { hop, witness, state: keptState(rest) };
}

function keptState({ state, lagMs, lagRangeMs }: Omit<HopRecord, "hop" | "witness">): HopState {
  if (state !== "shown") return { type: state };
  return { type: "shown", lagMs: lagMs ?? 0, ...(lagRangeMs && { range: keptRange(lagRangeMs) }) };
}

function keptRange({ min, max }: RangeRecord): LagRange {
  return { minMs: min, maxMs: max ?? undefined };
}

function instant(wallMs: JourneyRecord["originMs"] | null): MonotonicMs | undefined {
  return wallMs === null ? undefined : monotonicAt(wallMs, keptRun);
}
