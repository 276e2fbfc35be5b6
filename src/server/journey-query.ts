// The list of journeys: filters and pages over those in memory, and then over the history where there is
// one. The place of a page is the start and the id of its last journey, so new journeys move nothing.

import { Type } from "typebox";
import type { WallMs } from "../environment/clock.ts";
import type { HistoryQuery } from "../history/history-query.ts";
import type { HistoryReader } from "../history/history-reader.ts";
import { type Journey, Journey as JourneySchema, type Journeys } from "./api.ts";

const most = 500;

/** Of one question to the history; the page asks on. */
const scannedMax = 5_000;

/** Of `GET /api/v1/journeys`. */
export const JourneyFilter = Type.Object({
  service: Type.Optional(Type.String({ maxLength: 512, description: "namespace/name" })),
  cluster: Type.Optional(Type.String({ maxLength: 256 })),
  hop: Type.Optional(JourneySchema.properties.hops.items.properties.hop),
  direction: Type.Optional(JourneySchema.properties.direction),
  minLagMs: Type.Optional(
    Type.Number({ minimum: 0, description: "a hop, or the given one, was so late or is" }),
  ),
  cause: Type.Optional(Type.String({ maxLength: 256 })),
  outcome: Type.Optional(JourneySchema.properties.outcome),
  id: Type.Optional(Type.String({ maxLength: 256, description: "this journey alone" })),
  before: Type.Optional(Type.String({ maxLength: 512, description: "`next` of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: most })),
});

export interface Filter {
  readonly service?: string;
  readonly cluster?: string;
  readonly hop?: Journey["hops"][number]["hop"];
  readonly direction?: Journey["direction"];
  readonly minLagMs?: number;
  readonly cause?: string;
  readonly outcome?: Journey["outcome"];
  readonly id?: string;
  readonly before?: string;
  readonly limit?: number;
}

const defaultLimit = 100;

interface Place {
  readonly originMs: number;
  readonly id: string;
}

export interface AskedJourneys {
  /** Of memory, in any order. */
  readonly journeys: readonly Journey[];
  readonly history: HistoryReader | undefined;
  readonly nowMs: number;
}

/** Newest first. Undefined when `before` is no place. */
export function journeyPage(filter: Filter, asked: AskedJourneys): Journeys | undefined {
  const { before, limit = defaultLimit } = filter;
  const place = before === undefined ? undefined : placeOf(before);
  if (before !== undefined && place === undefined) return undefined;
  const isWanted = (journey: Journey): boolean =>
    (place === undefined || isAfter(journey, place)) && matches(journey, filter, asked.nowMs);
  const found = asked.journeys.filter(isWanted).sort(newestFirst);
  if (found.length < limit && asked.history !== undefined) {
    const known = new Set(asked.journeys.map(({ id }) => id));
    found.push(
      ...older(asked.history, { filter, place, known, isWanted, limit: limit - found.length }),
    );
    found.sort(newestFirst);
  }
  const journeys = found.slice(0, limit);
  const last = journeys.at(-1);
  const isMore = last !== undefined && found.length >= limit;
  return { journeys, next: isMore ? `${last.originMs}_${last.id}` : null };
}

function older(
  history: HistoryReader,
  asked: {
    readonly filter: Filter;
    readonly place: Place | undefined;
    readonly known: ReadonlySet<string>;
    readonly isWanted: (journey: Journey) => boolean;
    readonly limit: number;
  },
): readonly Journey[] {
  const { filter, place, known, isWanted, limit } = asked;
  const { service, cluster, direction, minLagMs } = filter;
  const query: HistoryQuery = {
    ...(place !== undefined && { until: (place.originMs + 1) as WallMs }),
    ...(service !== undefined && { service }),
    ...(cluster !== undefined && { cluster }),
    ...(direction !== undefined && { direction }),
    ...(minLagMs !== undefined && filter.hop === undefined && { slowerThanMs: minLagMs }),
  };
  const found: Journey[] = [];
  for (const record of history.records(query, { order: "latest first", limit: scannedMax })) {
    const journey = { ...record, hops: [...record.hops] };
    if (known.has(journey.id) || !isWanted(journey)) continue;
    found.push(journey);
    if (found.length >= limit) break;
  }
  return found;
}

function matches(journey: Journey, filter: Filter, nowMs: number): boolean {
  const { service, cluster, direction, cause, outcome, id, hop, minLagMs } = filter;
  const isSame = <T>(wanted: T | undefined, value: T | null): boolean =>
    wanted === undefined || wanted === value;
  return (
    isSame(id, journey.id) &&
    isSame(service, journey.service) &&
    isSame(cluster, journey.cluster) &&
    isSame(direction, journey.direction) &&
    isSame(cause, journey.cause) &&
    isSame(outcome, journey.outcome) &&
    ((hop === undefined && minLagMs === undefined) ||
      journey.hops.some((one) => isLateAt(one, journey, { hop, minLagMs, nowMs })))
  );
}

/** A hop that has yet to show it is as late as the change is old. */
function isLateAt(
  { hop, state, lagMs }: Journey["hops"][number],
  { originMs, outcome }: Journey,
  asked: { readonly hop: Filter["hop"]; readonly minLagMs?: number | undefined; nowMs: number },
): boolean {
  if (asked.hop !== undefined && asked.hop !== hop) return false;
  if (asked.minLagMs === undefined) return true;
  const isAwaited = outcome === "pending" && (state === "pending" || state === "stuck");
  const lateMs = lagMs ?? (isAwaited && hop !== "traffic" ? asked.nowMs - originMs : 0);
  return lateMs >= asked.minLagMs;
}

function placeOf(text: string): Place | undefined {
  const [, originMs, id] = /^(-?\d{1,16}(?:\.\d{1,9})?)_(.{1,256})$/s.exec(text) ?? [];
  return originMs === undefined || id === undefined
    ? undefined
    : { originMs: Number(originMs), id };
}

function isAfter(journey: Journey, place: Place): boolean {
  return newestFirst(journey, place) > 0;
}

function newestFirst(a: Place, b: Place): number {
  return b.originMs - a.originMs || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}
