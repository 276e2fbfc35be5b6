// The lags since the start, a row for each hop, leaves beside joins: the median, the worst of a
// hundred, the longest, and the age of the oldest change that the hop has yet to show, for a figure
// of what arrived hides what did not. A hop that nobody reports says so. Pure.
import { type Direction, type Hop, hops } from "../../journeys/witness.ts";
import type { Paint } from "../paint.ts";
import { awaitedCell, type HopCell, lagCell, paintTone, unknownSign } from "./hop-cell.ts";
import type { Picture } from "./picture.ts";
import { cutText, rightText } from "./text-columns.ts";

export interface LagTableOptions {
  readonly width: number;
  readonly slowMs: number;
  readonly paint: Paint;
}

const hopColumns = 9;
const figureColumns = 8;
const oldestColumns = 10;
const directionColumns = 3 * figureColumns + oldestColumns;

/** Both directions beside each other need so much. */
const bothColumns = hopColumns + 2 * directionColumns;

const directions: readonly Direction[] = ["leave", "join"];

const nothing: HopCell = { text: "–", tone: "quiet" };

export function lagTable(picture: Picture, options: LagTableOptions): readonly string[] {
  return options.width >= bothColumns
    ? besideEachOther(picture, options)
    : belowEachOther(picture, options);
}

function besideEachOther(picture: Picture, options: LagTableOptions): readonly string[] {
  const { secondary } = options.paint;
  const names = directions.map((direction) =>
    `${" ".repeat(4)}${direction}`.padEnd(directionColumns),
  );
  return [
    secondary((" ".repeat(hopColumns) + names.join("")).trimEnd()),
    secondary("hop".padEnd(hopColumns) + directions.map(figureHead).join("")),
    ...hops.map((hop) => {
      const reason = unknownText(picture, hop, options);
      const cells = directions.map((direction) => figures(picture, hop, direction, options));
      return hop.padEnd(hopColumns) + (reason ?? cells.join(""));
    }),
  ];
}

function belowEachOther(picture: Picture, options: LagTableOptions): readonly string[] {
  const { secondary } = options.paint;
  return [
    secondary("hop".padEnd(hopColumns + 6) + figureHead()),
    ...hops.flatMap((hop) => {
      const reason = unknownText(picture, hop, options);
      if (reason !== undefined) return [hop.padEnd(hopColumns) + reason];
      return directions.map(
        (direction) =>
          `${hop.padEnd(hopColumns)} ${direction.padEnd(5)}` +
          figures(picture, hop, direction, options),
      );
    }),
  ];
}

function figureHead(): string {
  const names = ["p50", "p99", "max"].map((name) => rightText(name, figureColumns));
  return names.join("") + rightText("oldest", oldestColumns);
}

/** Undefined when somebody reports the hop. */
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
  { tally, oldest }: Picture,
  hop: Hop,
  direction: Direction,
  { slowMs: usualSlowMs, paint }: LagTableOptions,
): string {
  // The first request to an address that joined comes when somebody asks.
  const isAsked = hop === "traffic" && direction === "join";
  const slowMs = isAsked ? Number.POSITIVE_INFINITY : usualSlowMs;
  const lags = tally.lags(hop, direction);
  const values = [lags?.quantileMs(0.5), lags?.quantileMs(0.99), lags?.maxMs];
  const ages = oldest
    .filter((one) => one.hop === hop && one.direction === direction)
    .map(({ ageMs }) => ageMs);
  const longestMs = Math.max(0, ...ages);
  const type = tally.inFlight.isAnyStuckAt(hop, direction) ? "stuck" : "pending";
  const age = ages.length === 0 ? nothing : awaitedCell([{ type }], longestMs, { slowMs });
  const cell = ({ text, tone }: HopCell, columns: number) =>
    paintTone(paint, tone)(rightText(text, columns));
  return [
    ...values.map((value) =>
      cell(value === undefined ? nothing : lagCell(value, { slowMs }), figureColumns),
    ),
    cell(age, oldestColumns),
  ].join("");
}
