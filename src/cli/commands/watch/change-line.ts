// One change as one line of `lockstep watch`, and many similar ones as one line: the columns, the
// cells and the path on a time scale. Pure.
import { visible } from "../../../decide/routing/shown-text.ts";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import { ageMs, type HopTime, type Journey } from "../../../timeline/journey.ts";
import { type ObserverRun, wallAt } from "../../../timeline/journey-record.ts";
import type { Direction, Hop } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, leftText, rightText, textColumns } from "../../terminal/text.ts";
import {
  type HopCell,
  hopCell,
  type Judging,
  lagCell,
  outcomeNames,
  paintTone,
  unknownSign,
} from "./hop-cell.ts";
import type { WatchTally } from "./tally.ts";

export interface LineContext extends Judging {
  readonly run: ObserverRun;
  readonly utc: boolean;
  readonly paint: Paint;
}

/** Similar changes of one service, shown as one line because there are too many. */
export interface ChangeGroup {
  readonly cluster: string;
  readonly service: string;
  readonly direction: Direction;
  readonly cause: string;
  readonly count: number;
  /** The start of the first change. */
  readonly since: MonotonicMs;
  /** The longest lag at each hop that showed any. */
  readonly longestMs: ReadonlyMap<Hop, number>;
  /** Hops where the real lag may be longer. */
  readonly atLeast: ReadonlySet<Hop>;
}

export function changeLine(journey: Journey, columns: ChangeColumns, context: LineContext): string {
  const { endpoint, direction, origin } = journey;
  const row = {
    time: timeOfDay(wallAt(origin.at, context.run), context.utc),
    cluster: visible(endpoint.cluster ?? unknownSign),
    subject: signOf(direction) + visible(endpoint.address),
    service: visible(endpoint.service),
    cause: visible(causeText(journey)),
    cells: columns.hops.map((hop) => hopCell(journey, hop, context)),
    path: columns.hasPath ? lagPath(journey, context, context.paint) : "",
  };
  return rowLine(row, columns, context.paint);
}

export function groupLine(
  group: ChangeGroup,
  columns: ChangeColumns,
  context: LineContext,
): string {
  const { cluster, service, direction, cause, count, since, longestMs, atLeast } = group;
  const row = {
    time: timeOfDay(wallAt(since, context.run), context.utc),
    cluster: visible(cluster),
    subject: countText(direction, count),
    service: visible(service),
    cause: visible(cause),
    cells: columns.hops.map((hop): HopCell => {
      const lagMs = longestMs.get(hop);
      if (lagMs === undefined) return { text: unknownSign, tone: "quiet" };
      return lagCell(lagMs, context, { bound: atLeast.has(hop) ? "≥" : "≤" });
    }),
    path: "",
  };
  return rowLine(row, columns, context.paint);
}

/** `−37 endpoints`. */
export function countText(direction: Direction, count: number): string {
  return `${signOf(direction)}${count} ${count === 1 ? "endpoint" : "endpoints"}`;
}

/** An unusual outcome is more important than the cause. */
function causeText({ outcome, cause }: Journey): string {
  return outcome === "pending" || outcome === "complete"
    ? (cause ?? unknownSign)
    : outcomeNames[outcome];
}

function signOf(direction: Direction): string {
  return direction === "join" ? "+" : "−";
}

/** `20:31:07`. */
function timeOfDay(wall: WallMs, utc: boolean): string {
  const date = new Date(wall);
  const parts = utc
    ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
    : [date.getHours(), date.getMinutes(), date.getSeconds()];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/**
 * The columns depend only on the width, the reported hops and the cluster names, so lines are
 * aligned. Without room these shrink first: path, cause, cluster, service name.
 */
export interface ChangeColumns {
  readonly hops: readonly Hop[];
  readonly clusterColumns: number;
  /** Width of address and service together; a long address shortens the service. */
  readonly nameColumns: number;
  readonly causeColumns: number;
  readonly hasPath: boolean;
}

interface ColumnsAsked {
  readonly width: number;
  readonly hops: readonly Hop[];
  /** One cluster needs no column. */
  readonly clusters: readonly string[];
}

/** The texts of one line. */
interface ChangeRow {
  readonly time: string;
  readonly cluster: string;
  /** `−10.0.0.1`. */
  readonly subject: string;
  readonly service: string;
  readonly cause: string;
  /** One for each hop column. */
  readonly cells: readonly HopCell[];
  /** The last column; its width is not limited. */
  readonly path: string;
}

const timeColumns = 8;
/** `published` and a space before it. */
const hopColumns = 10;
/** A sign and an IPv4 address. */
const subjectColumns = 16;
/** A shorter part of a name is not recognisable. */
const serviceLeast = 8;
/** Enough for most names with namespace. */
const serviceUsual = 16;
const serviceMost = 40;
/** `terminating`, the most frequent cause. */
const causeUsual = 11;
/** `service deleted`, the longest cause; used if the path fits too. */
const causeMost = 15;
const clusterMost = 16;

export function changeColumns({ width, hops, clusters }: ColumnsAsked): ChangeColumns {
  const longest = Math.max("cluster".length, ...clusters.map(textColumns));
  const clusterWanted = clusters.length > 1 ? Math.min(longest, clusterMost) : 0;
  let left =
    width - timeColumns - hops.length * hopColumns - 1 - (subjectColumns + serviceLeast + 1);
  const take = (wanted: number, least: number): number => {
    const given = Math.min(wanted, left - 1);
    if (given < least) return 0;
    left -= given + 1;
    return given;
  };
  const clusterColumns = clusterWanted === 0 ? 0 : take(clusterWanted, 4);
  const causeTaken = take(causeUsual, 5);
  const serviceWanted = take(serviceUsual - serviceLeast, 0);
  const pathTaken = take(pathColumns, pathColumns);
  const causeMore = pathTaken > 0 ? take(causeMost - causeUsual, 1) : 0;
  const serviceColumns = serviceLeast + serviceWanted + take(serviceMost - serviceUsual, 0);
  return {
    hops,
    clusterColumns,
    nameColumns: Math.max(0, subjectColumns + 1 + serviceColumns + Math.min(0, left)),
    causeColumns: causeTaken + causeMore,
    hasPath: pathTaken > 0,
  };
}

export function headLine(columns: ChangeColumns, { secondary }: Paint): string {
  const row = {
    time: "time",
    cluster: "cluster",
    subject: "endpoint",
    service: "service",
    cause: "cause",
    cells: columns.hops.map((hop): HopCell => ({ text: hop, tone: "plain" })),
    path: pathScale(),
  };
  return secondary(rowLine(row, columns, undefined));
}

/** Without paint the caller colours the whole line. */
export function rowLine(row: ChangeRow, columns: ChangeColumns, paint: Paint | undefined): string {
  const { clusterColumns, causeColumns, nameColumns, hasPath } = columns;
  const cells = row.cells.map(({ text, tone }) => {
    const cell = rightText(text, hopColumns - 1);
    return ` ${paint === undefined ? cell : paintTone(paint, tone)(cell)}`;
  });
  const quiet = (text: string) => paint?.secondary(text) ?? text;
  const line = [
    quiet(leftText(row.time, timeColumns)),
    ...(clusterColumns === 0 ? [] : [leftText(row.cluster, clusterColumns)]),
    nameText(row, nameColumns),
    ...(causeColumns === 0 ? [] : [quiet(leftText(row.cause, causeColumns))]),
  ].join(" ");
  return (line + cells.join("") + (hasPath ? `  ${row.path}` : "")).trimEnd();
}

/** The namespace is dropped if the service fits without it. */
function nameText({ subject, service }: ChangeRow, columns: number): string {
  const start = cutText(subject, columns).padEnd(Math.min(subjectColumns, columns));
  const room = columns - textColumns(start) - 1;
  if (room < 1) return leftText(start, columns);
  const isTooLong = textColumns(service) > room;
  const name = isTooLong ? service.slice(service.indexOf("/") + 1) : service;
  return `${start} ${leftText(name, room)}`;
}

// A change on a logarithmic time scale, because lags span six orders of magnitude: a letter where
// each hop showed it. Letters of nearly equal times stand side by side.

/** The scale reaches from 1 ms to more than 10 min. */
const pathColumns = 32;

const columnsPerDecade = 5;

const letterOf: Readonly<Record<Hop, string>> = {
  pod: "o",
  published: "p",
  synced: "s",
  routed: "r",
  traffic: "t",
};

const marks: readonly (readonly [number, string])[] = [
  [1, "1ms"],
  [10, "10ms"],
  [100, "0.1s"],
  [1_000, "1s"],
  [10_000, "10s"],
  [60_000, "1m"],
  [600_000, "10m"],
];

function pathScale(): string {
  const line = Array<string>(pathColumns).fill(" ");
  for (const [ms, label] of marks) {
    line.splice(Math.round(Math.log10(ms) * columnsPerDecade), label.length, ...label.split(""));
  }
  return line.join("").trimEnd();
}

function lagPath(journey: Journey, judging: Judging, paint: Paint): string {
  const cells = Array<string>(pathColumns).fill("");
  const isPending = journey.outcome === "pending";
  const awaited = isPending && journey.hops.some(isAwaited);
  const isStuck = journey.hops.some(({ state }) => state.type === "stuck");
  const letters = letterPlaces(journey);
  const lastShown = letters.at(-1)?.at ?? 0;
  const end = awaited ? placeOf(ageMs(journey, judging.now)) : lastShown;
  const lateFrom = placeOf(judging.slowMs);
  for (let at = 0; at <= Math.max(end, lastShown); at += 1) {
    const tone = at < lateFrom ? paint.secondary : isStuck ? paint.failed : paint.late;
    cells[at] = tone(at <= lastShown ? "─" : "╌");
  }
  for (const { letter, lagMs, at } of letters) {
    cells[at] = (lagMs < judging.slowMs ? paint.strong : paint.late)(letter);
  }
  if (awaited && end > lastShown) cells[end] = (isStuck ? paint.failed : paint.late)("…");
  return cells.join("");
}

interface LetterPlace {
  readonly letter: string;
  readonly lagMs: number;
  readonly at: number;
}

/** From left to right. Replicas with nearly equal times share one letter. */
function letterPlaces({ hops }: Journey): readonly LetterPlace[] {
  const shown = hops
    .flatMap(({ hop, state }) =>
      state.type === "shown" ? [{ letter: letterOf[hop], lagMs: state.lagMs }] : [],
    )
    .sort((a, b) => a.lagMs - b.lagMs);
  const places: LetterPlace[] = [];
  for (const { letter, lagMs } of shown) {
    const last = places.at(-1);
    const ownPlace = placeOf(lagMs);
    const isCrowded = last !== undefined && ownPlace <= last.at;
    if (isCrowded && places.some((one) => one.letter === letter)) continue;
    const at = isCrowded ? last.at + 1 : ownPlace;
    if (at < pathColumns) places.push({ letter, lagMs, at });
  }
  return places;
}

/** No request is expected, so `traffic` is never awaited. */
function isAwaited({ hop, state }: HopTime): boolean {
  return hop !== "traffic" && (state.type === "pending" || state.type === "stuck");
}

function placeOf(ms: number): number {
  const place = Math.floor(Math.log10(Math.max(1, ms)) * columnsPerDecade);
  return Math.min(place, pathColumns - 1);
}

/**
 * The hops with a column: always `published` and `routed`; `pod` only if the pod watch itself was
 * late. Hops in `asked` have a column from the start.
 */
export function shownHops(
  tally: Pick<WatchTally, "isWitnessed" | "wasPodLate">,
  asked: readonly Hop[] = [],
): readonly Hop[] {
  const isShown = (hop: Hop) => tally.isWitnessed(hop) || asked.includes(hop);
  return [
    ...(tally.wasPodLate ? (["pod"] as const) : []),
    "published",
    ...(isShown("synced") ? (["synced"] as const) : []),
    "routed",
    ...(isShown("traffic") ? (["traffic"] as const) : []),
  ];
}
