// The live part of the screen: column titles, changes in flight with the oldest first, and the
// footer. It is never higher than the screen, and its cost does not depend on the number of
// changes. Pure.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText, shortDuration } from "../../../environment/duration-text.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import type { Journey } from "../../../timeline/journey.ts";
import { p99Of } from "../../../timeline/percentile.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, leftText, textColumns, wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import {
  type ChangeColumns,
  changeLine,
  countText,
  headLine,
  type LineContext,
  rowLine,
} from "./change-line.ts";
import { directionNames, type HopCell, paintTone, type Tone, unknownSign } from "./hop-cell.ts";
import type { FlyingGroup } from "./in-flight.ts";
import { lagTable } from "./lag-table.ts";
import type { Picture, ViewOptions } from "./view.ts";

interface LivePicture extends Picture {
  /** Changes that all hops have shown but that are not printed yet; they use the remaining rows. */
  readonly settled?: readonly Journey[];
}

interface LiveOptions extends ViewOptions {
  readonly columns: ChangeColumns;
  readonly paint: Paint;
}

/** More changes at once are shown in groups. */
const changesMost = 12;
const groupsMost = 3;

/** With fewer rows the footer has only the title and problems. */
const rowsForTable = 16;

const clusterRowsMost = 6;
const notesMost = 2;
const noteRowsMost = 3;

/** `leastHeight` keeps the footer in place when there is less to show. */
export function liveLines(
  picture: LivePicture,
  options: LiveOptions,
  leastHeight = 0,
): readonly string[] {
  const footer = footerLines(picture, options);
  const room = Math.max(1, options.rows - footer.length - 2);
  const flying = flyingLines(picture, options, room);
  const spare = Math.min(leastHeight, options.rows - 1) - flying.length - footer.length - 1;
  const empty = Array<string>(Math.max(0, spare)).fill("");
  return [headLine(options.columns, options.paint), ...flying, ...empty, ...footer];
}

function flyingLines(picture: LivePicture, options: LiveOptions, room: number): readonly string[] {
  const { inFlight } = picture.tally;
  const context = lineContext(picture, options);
  const isCrowd = inFlight.size > Math.min(changesMost, room);
  const groupRoom = isCrowd ? Math.min(groupsMost, Math.floor(room / 3)) : 0;
  const oldest = inFlight.oldest(Math.min(changesMost, room) - groupRoom);
  const groups = groupRoom === 0 ? [] : inFlight.groups();
  const settled = isCrowd ? [] : (picture.settled ?? []);
  return [
    ...[...settled, ...oldest]
      .slice(-Math.min(changesMost, room))
      .map((journey) => changeLine(journey, options.columns, context)),
    ...groups.slice(0, groupRoom).map((group) => groupRow(group, options)),
  ];
}

/** For each hop, how many changes of the group it has shown. */
function groupRow(group: FlyingGroup, { columns, paint }: LiveOptions): string {
  const { cluster, service, direction, cause, count, shownAt } = group;
  const row = {
    time: "group",
    cluster: visible(cluster),
    subject: countText(direction, count),
    service: visible(service),
    cause: visible(cause),
    cells: columns.hops.map((hop): HopCell => {
      const shown = shownAt.get(hop);
      const text = shown === undefined ? unknownSign : `${shown}/${count}`;
      return { text, tone: "quiet" };
    }),
    path: "",
  };
  return rowLine(row, columns, paint);
}

function footerLines(picture: Picture, options: LiveOptions): readonly string[] {
  const { rows, width, paint } = options;
  const title = titleLine(picture, options);
  const isSmall = rows < rowsForTable;
  const notes = picture.notes
    .slice(isSmall ? -1 : -notesMost)
    .flatMap((note) => wrapText(visible(note), { width, first: "! ", rest: "  " }))
    .slice(0, noteRowsMost)
    .map((line) => paint.late(cutText(line, width)));
  if (isSmall) return [title, ...firstTrouble(picture, options), ...notes];
  const most = Math.min(clusterRowsMost, Math.floor(rows / 4));
  const clusters = clusterRows(picture, { width, paint, most });
  return [title, ...lagTable(picture, options), ...clusters, ...notes];
}

/** A small screen shows at least the first problem of a cluster. */
function firstTrouble(picture: Picture, { width, paint }: LiveOptions): readonly string[] {
  const troubled = picture.clusters.find((one) => conditionOf(one, picture).tone !== "plain");
  if (troubled === undefined) return [];
  return clusterRows({ ...picture, clusters: [troubled] }, { width, paint, most: 1 });
}

/** `── lockstep watch · 12 min · 1,204 changes · 3 in flight, 1 stuck ──`. */
function titleLine(picture: Picture, { width, paint }: LiveOptions): string {
  const { tally, counts, title = "lockstep watch" } = picture;
  const titleStart = `── ${title}`;
  const { inFlight } = tally;
  const forText = durationText(wholeSeconds(elapsedMs(picture.startedAt, picture.now)));
  const stuck: TitlePart = {
    text: inFlight.stuck === 0 ? "" : `✗ ${numberText(inFlight.stuck)} stuck`,
    tone: paint.failed,
  };
  const parts: readonly TitlePart[] = [
    { text: forText },
    { text: counted(tally.changes, "change") },
    { text: someText(inFlight.size, "in flight") },
    stuck,
    { text: slowText(tally.slow), tone: paint.late },
    { text: someText(tally.outcome("superseded"), "superseded") },
    { text: someText(tally.outcome("dropped") + counts.dropped, "dropped"), tone: paint.late },
  ];
  // The number of stuck changes is shown first of all.
  let room = width - 2 - textColumns(titleStart) - columnsOf(stuck);
  let line = titleStart;
  let painted = `${paint.secondary("──")} ${paint.strong(title)}`;
  for (const part of parts) {
    const { text, tone } = part;
    if (text === "" || (part !== stuck && columnsOf(part) > room)) continue;
    if (part !== stuck) room -= columnsOf(part);
    line += ` · ${text}`;
    painted += ` · ${tone?.(text) ?? text}`;
  }
  const rest = Math.max(0, width - textColumns(line) - 1);
  return `${cutPainted(painted, line, width)} ${paint.secondary("─".repeat(rest))}`;
}

interface TitlePart {
  /** Empty parts are left out. */
  readonly text: string;
  readonly tone?: (text: string) => string;
}

/** Including the separator before it. */
function columnsOf({ text }: TitlePart): number {
  return text === "" ? 0 : textColumns(` · ${text}`);
}

/** A very narrow screen has no colours. */
function cutPainted(painted: string, plain: string, width: number): string {
  return textColumns(plain) < width ? painted : cutText(plain, width - 1);
}

/** Changes in flight are not counted yet. */
function slowText(count: number): string {
  return count === 0 ? "" : `▲ ${numberText(count)} slow`;
}

function someText(count: number, what: string): string {
  return count === 0 ? "" : `${numberText(count)} ${what}`;
}

export function lineContext(
  { now, run }: Pick<Picture, "now" | "run">,
  { slowMs, utc, paint }: Pick<LiveOptions, "slowMs" | "utc" | "paint">,
): LineContext {
  return { now, run, slowMs, utc, paint };
}

/**
 * The state of each cluster, one row each. Clusters with problems come first only if not all fit,
 * so that rows stay in place.
 */
interface ClusterRowsOptions {
  readonly width: number;
  readonly most: number;
  readonly paint: Paint;
}

const nameMost = 16;

export function clusterRows(picture: Picture, options: ClusterRowsOptions): readonly string[] {
  const { clusters } = picture;
  const { most, paint } = options;
  if (
    clusters.length === 1 &&
    clusters.every((one) => conditionOf(one, picture).tone === "plain")
  ) {
    return [];
  }
  const isAll = clusters.length <= most;
  const shown = isAll
    ? clusters
    : [...clusters]
        .sort((a, b) => trouble(b, picture) - trouble(a, picture))
        .slice(0, Math.max(0, most - 1));
  const nameColumns = Math.min(nameMost, Math.max(...shown.map(nameColumnsOf)));
  const rows = shown.map((one) => clusterRow(one, picture, { ...options, nameColumns }));
  const rest = clusters.length - shown.length;
  if (isAll || most < 1) return rows;
  const fine = clusters.filter((one) => trouble(one, picture) === 0).length;
  return [...rows, paint.secondary(`and ${rest} more clusters; up to date: ${fine} of all`)];
}

/** `watching`, `unreachable for 12 s: connection refused`. */
export function conditionOf(
  { state, doubts }: ClusterStatus,
  { now }: Pick<Picture, "now">,
): { readonly text: string; readonly sign: string; readonly tone: Tone } {
  switch (state.type) {
    case "connecting":
      return { text: "connecting", sign: "◐", tone: "quiet" };
    case "listing":
      return { text: `listing, ${state.listed} of ${state.of} done`, sign: "◐", tone: "quiet" };
    case "watching": {
      const [doubt] = doubts;
      if (doubt === undefined) return { text: "watching", sign: "●", tone: "plain" };
      return { text: visible(doubt), sign: "!", tone: "late" };
    }
    case "unreachable": {
      const forMs = Math.max(0, elapsedMs(state.since, now));
      const text = `unreachable for ${durationText(wholeSeconds(forMs))}: ${visible(state.detail)}`;
      return { text, sign: "✗", tone: "failed" };
    }
    case "refused":
      return { text: `refused: ${visible(state.detail)}`, sign: "✗", tone: "failed" };
  }
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function clusterRow(
  status: ClusterStatus,
  picture: Picture,
  { width, paint, nameColumns }: ClusterRowsOptions & { readonly nameColumns: number },
): string {
  const { text, sign, tone } = conditionOf(status, picture);
  const toned = paintTone(paint, tone);
  const name = leftText(visible(status.cluster), nameColumns);
  const room = Math.max(0, width - nameColumns - 3);
  if (tone === "late" || tone === "failed") {
    return `${toned(sign)} ${name} ${toned(cutText(withoutRequest(text, room), room))}`;
  }
  const rest = cutText(figuresText(status.cluster, text, picture), room);
  return `${tone === "plain" ? paint.lockstep(sign) : toned(sign)} ${name} ${rest}`;
}

/** The request at the start of an error. */
const request = /\b[A-Z]+ https?:\/\/\S+: /;

/** Without room the reason is more important than the request. */
function withoutRequest(text: string, room: number): string {
  return textColumns(text) <= room ? text : text.replace(request, "");
}

function figuresText(cluster: string, condition: string, { tally, oldest }: Picture): string {
  const own = tally.cluster(cluster);
  const ages = oldest.filter((one) => one.cluster === cluster).map(({ ageMs }) => ageMs);
  const p99 = (direction: "join" | "leave"): string => {
    const lag = own && p99Of(own.lags[direction]);
    return lag === undefined ? "" : ` · ${directionNames[direction]} p99 ${shortDuration(lag)}`;
  };
  const changes = counted(own?.changes ?? 0, "change");
  const pending = ages.length === 0 ? "" : ` · oldest ${shortDuration(Math.max(...ages))}…`;
  return `${condition}${pending} · ${changes}${p99("leave")}${p99("join")}`;
}

function trouble(status: ClusterStatus, picture: Picture): number {
  return { plain: 0, quiet: 1, late: 2, failed: 3 }[conditionOf(status, picture).tone];
}

function nameColumnsOf({ cluster }: ClusterStatus): number {
  return textColumns(visible(cluster));
}
