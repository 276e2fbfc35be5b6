// The part of the screen that is drawn anew: the head of the columns, the changes in flight with the
// oldest first, and the footer. It is never higher than the screen, and making it costs the same
// whether ten changes are in flight or ten thousand. Pure.

import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Journey } from "../../../timeline/journey.ts";
import { counted } from "../../terminal/counted.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, textColumns } from "../../terminal/text-columns.ts";
import { numberText } from "../../terminal/value-text.ts";
import { type ChangeColumns, headLine, rowLine } from "./change-columns.ts";
import { changeLine, countText, type LineContext } from "./change-line.ts";
import { clusterRows, conditionOf, wholeSeconds } from "./cluster-rows.ts";
import { type HopCell, unknownSign } from "./hop-cell.ts";
import type { FlyingGroup } from "./in-flight.ts";
import { lagTable } from "./lag-table.ts";
import type { Picture, ViewOptions } from "./picture.ts";

export interface LivePicture extends Picture {
  /** Changes that every hop has shown and that are not printed yet; they get what room is left. */
  readonly settled?: readonly Journey[];
}

export interface LiveOptions extends ViewOptions {
  readonly columns: ChangeColumns;
  readonly paint: Paint;
}

/** More changes at once are a crowd, and a crowd is shown in groups. */
const changesMost = 12;
const groupsMost = 3;

/** With fewer rows the footer is its title and what is wrong, and the rest is for changes. */
const rowsForTable = 16;

const clusterRowsMost = 6;
const notesMost = 2;

/** At least so high, so that the footer stays where it is while there is less to show. */
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

/** How many of a group each hop has shown. */
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
    .map((note) => paint.late(cutText(`! ${visible(note)}`, width)));
  if (isSmall) return [title, ...firstTrouble(picture, options), ...notes];
  const most = Math.min(clusterRowsMost, Math.floor(rows / 4));
  const clusters = clusterRows(picture, { width, paint, most });
  return [title, ...lagTable(picture, options), ...clusters, ...notes];
}

/** Without it a small screen would look calm while nothing is heard. */
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
  // What is stuck has its room before all others.
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
  /** Empty when there is nothing to say. */
  readonly text: string;
  readonly tone?: (text: string) => string;
}

/** With what stands between it and the one before. */
function columnsOf({ text }: TitlePart): number {
  return text === "" ? 0 : textColumns(` · ${text}`);
}

/** On a screen too narrow for any of it there are no colours either. */
function cutPainted(painted: string, plain: string, width: number): string {
  return textColumns(plain) < width ? painted : cutText(plain, width - 1);
}

/** Of those in flight it is not known yet how slow they will have been. */
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
