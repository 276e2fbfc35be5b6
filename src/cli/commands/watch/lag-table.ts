// The table of lags: a row for each hop, removals beside additions, with median, p99 (or the number
// of changes, if too few), maximum and the oldest change that is not shown yet. After 15 minutes it
// also shows the last 15 minutes, or only these on a small screen. Pure.
import { elapsedMs } from "../../../environment/clock.ts";
import { recentMs, recentText } from "../../../timeline/lag-figures.ts";
import { p99Of, samplesText } from "../../../timeline/percentile.ts";
import { type Direction, type Hop, hops } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import { cutText, rightText } from "../../terminal/text.ts";
import {
  awaitedCell,
  directionNameColumns,
  directionNames,
  type HopCell,
  lagCell,
  paintTone,
  unknownSign,
} from "./hop-cell.ts";
import type { Picture } from "./view.ts";

export interface LagTableOptions {
  readonly width: number;
  /** Height of the screen; absent where lines scroll. */
  readonly rows?: number;
  readonly slowMs: number;
  readonly paint: Paint;
}

/** Since the start, or the last 15 minutes. */
type Span = "whole" | "recent";

const hopColumns = 9;
const figureColumns = 8;
const oldestColumns = 10;
const directionColumns = 3 * figureColumns + oldestColumns;

/** Width with both directions side by side. */
const bothColumns = hopColumns + 2 * directionColumns;

const noAge = " ".repeat(oldestColumns);

const directions: readonly Direction[] = ["leave", "join"];

const nothing: HopCell = { text: "–", tone: "quiet" };

/** With fewer rows only one span is shown; a narrow table needs more rows. */
const rowsForSpans = 36;
const narrowRowsForSpans = 50;

export function lagTable(picture: Picture, options: LagTableOptions): readonly string[] {
  const spans = spansOf(picture, options);
  return options.width >= bothColumns
    ? besideEachOther(picture, spans, options)
    : belowEachOther(picture, spans, options);
}

/** In the first 15 minutes both spans are equal. */
function spansOf(
  { startedAt, now }: Picture,
  { width, rows = Number.POSITIVE_INFINITY }: LagTableOptions,
): readonly Span[] {
  if (elapsedMs(startedAt, now) < recentMs) return ["whole"];
  const needed = width >= bothColumns ? rowsForSpans : narrowRowsForSpans;
  return rows >= needed ? ["whole", "recent"] : ["recent"];
}

function besideEachOther(
  picture: Picture,
  spans: readonly Span[],
  options: LagTableOptions,
): readonly string[] {
  const { secondary } = options.paint;
  const names = directions.map((direction) =>
    `${" ".repeat(4)}${directionNames[direction]}`.padEnd(directionColumns),
  );
  return [
    secondary((headOf(spans).padEnd(hopColumns) + names.join("")).trimEnd()),
    secondary("hop".padEnd(hopColumns) + directions.map(figureHead).join("")),
    ...hops.flatMap((hop) => {
      const reason = unknownText(picture, hop, options);
      if (reason !== undefined) return [hop.padEnd(hopColumns) + reason];
      return spans.map((span, at) => {
        const cells = directions.map((direction) => {
          const figured = figures(picture, hop, direction, { ...options, span });
          return figured + (at === 0 ? oldestOf(picture, hop, direction, options) : noAge);
        });
        return (rowName(hop, at).padEnd(hopColumns) + cells.join("")).trimEnd();
      });
    }),
  ];
}

function belowEachOther(
  picture: Picture,
  spans: readonly Span[],
  options: LagTableOptions,
): readonly string[] {
  const { secondary } = options.paint;
  return [
    secondary(
      `hop    ${headOf(spans)}`.padEnd(hopColumns + 1 + directionNameColumns) + figureHead(),
    ),
    ...hops.flatMap((hop) => {
      const reason = unknownText(picture, hop, options);
      if (reason !== undefined) return [hop.padEnd(hopColumns) + reason];
      return spans.flatMap((span, at) =>
        directions.map((direction) => {
          const name = `${rowName(hop, at).padEnd(hopColumns)} ${directionNames[direction].padEnd(directionNameColumns)}`;
          const figured = figures(picture, hop, direction, { ...options, span });
          const age = at === 0 ? oldestOf(picture, hop, direction, options) : "";
          return name + figured + age;
        }),
      );
    }),
  ];
}

/** The title where no row covers the time since the start. */
function headOf(spans: readonly Span[]): string {
  return spans.includes("whole") ? "" : recentText;
}

/** The second row of a hop is named by its span. */
function rowName(hop: Hop, at: number): string {
  return at === 0 ? hop : ` ${recentText}`;
}

function figureHead(): string {
  const names = ["p50", "p99", "max"].map((name) => rightText(name, figureColumns));
  return names.join("") + rightText("oldest", oldestColumns);
}

/** Undefined when a source reports the hop. */
function unknownText(
  { tally, unknown }: Picture,
  hop: Hop,
  { width, paint }: LagTableOptions,
): string | undefined {
  const reason = unknown.get(hop);
  if (reason === undefined || tally.isWitnessed(hop)) return undefined;
  return paint.secondary(cutText(`   ${unknownSign} ${reason}`, width - hopColumns));
}

function figures(
  { tally, now }: Picture,
  hop: Hop,
  direction: Direction,
  { slowMs, paint, span }: LagTableOptions & { readonly span: Span },
): string {
  const lags =
    span === "whole" ? tally.lags(hop, direction) : tally.recentLags(hop, direction, now);
  const isNone = lags === undefined || lags.count === 0;
  const slowFrom = { slowMs: slowFromMs(hop, direction, slowMs) };
  const cell = (value: number | undefined, otherwise = nothing): HopCell =>
    value === undefined ? otherwise : hopLagCell(hop, value, slowFrom);
  const cells = isNone
    ? [nothing, nothing, nothing]
    : [
        cell(lags.quantileMs(0.5)),
        cell(p99Of(lags), { text: samplesText(lags.count), tone: "quiet" }),
        cell(lags.maxMs),
      ];
  return cells.map((one) => paintedCell(one, figureColumns, paint)).join("");
}

/**
 * A hop that reported the change with or before the pod watch has a lag of at most 0, not exactly
 * 0.
 */
function hopLagCell(hop: Hop, lagMs: number, slowFrom: { readonly slowMs: number }): HopCell {
  return hop !== "pod" && lagMs === 0
    ? lagCell(0, slowFrom, { bound: "≤" })
    : lagCell(lagMs, slowFrom);
}

function oldestOf(
  { tally, oldest }: Picture,
  hop: Hop,
  direction: Direction,
  { slowMs, paint }: LagTableOptions,
): string {
  const ages = oldest
    .filter((one) => one.hop === hop && one.direction === direction)
    .map(({ ageMs }) => ageMs);
  const type = tally.inFlight.isAnyStuckAt(hop, direction) ? "stuck" : "pending";
  const slowFrom = { slowMs: slowFromMs(hop, direction, slowMs) };
  const age = ages.length === 0 ? nothing : awaitedCell([{ type }], Math.max(...ages), slowFrom);
  return paintedCell(age, oldestColumns, paint);
}

/** The first request to an added address depends on the clients, so it is never slow. */
function slowFromMs(hop: Hop, direction: Direction, slowMs: number): number {
  return hop === "traffic" && direction === "join" ? Number.POSITIVE_INFINITY : slowMs;
}

function paintedCell({ text, tone }: HopCell, columns: number, paint: Paint): string {
  return paintTone(paint, tone)(rightText(text, columns));
}
