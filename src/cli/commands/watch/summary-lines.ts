// The summary at the end: number of changes, lags at each hop, slowest and stuck changes, and the
// reasons for unknown values. Pure.

import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Paint } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import { changeColumns, changeLine, headLine, shownHops } from "./change-line.ts";
import { outcomeReasons } from "./hop-cell.ts";
import { type LagTableOptions, lagTable } from "./lag-table.ts";
import { conditionOf, lineContext } from "./live-lines.ts";
import type { Picture, ViewOptions } from "./view.ts";
import { isUnread } from "./view.ts";

export interface SummaryOptions extends Pick<ViewOptions, "width" | "slowMs" | "utc"> {
  readonly paint: Paint;
}

/** Further ones are only counted. */
const stuckMost = 20;

export function summaryLines(picture: Picture, options: SummaryOptions): readonly string[] {
  const { strong } = options.paint;
  const stuck = picture.tally.inFlight.stuckOnes(stuckMost);
  const moreStuck = picture.tally.inFlight.stuck - stuck.length;
  return [
    strong(`Observed for ${durationText(elapsedMs(picture.startedAt, picture.now))}.`),
    ...paragraph(countsText(picture, options), options),
    "",
    ...lagTable(picture, wholeTable(options)),
    ...listed("Slowest", picture.tally.slowest, picture, options),
    ...listed("Stuck", stuck, picture, options),
    ...(moreStuck > 0 ? [`${numberText(moreStuck)} more are stuck`] : []),
    ...caveats(picture, options),
  ];
}

/** The summary scrolls, so it always shows the lags since the start. */
function wholeTable({ width, slowMs, paint }: SummaryOptions): LagTableOptions {
  return { width, slowMs, paint };
}

function countsText({ tally, counts, clusters }: Picture, { slowMs }: SummaryOptions): string {
  if (clusters.every(isUnread)) return "No result: no cluster could be read.";
  if (tally.changes === 0) return "No endpoint was added or removed.";
  const { inFlight } = tally;
  const ended = outcomeReasons.flatMap(([outcome, words]) => {
    const count = tally.outcome(outcome);
    return count === 0 ? [] : [`${numberText(count)} ${words}`];
  });
  const shown = tally.outcome("complete") + inFlight.settled;
  const followed =
    inFlight.settled === 0
      ? ""
      : ` (${numberText(inFlight.settled)} of them still observed for requests)`;
  const parts = [
    counted(tally.changes, "change"),
    `${numberText(shown)} complete${followed}`,
    `${numberText(tally.slow)} slow (${durationText(slowMs)} or more)`,
    ...ended,
    inFlight.size === 0
      ? "0 in flight"
      : `${numberText(inFlight.size)} in flight (${numberText(inFlight.stuck)} stuck)`,
  ];
  const dropped =
    counts.dropped === 0
      ? ""
      : ` ${numberText(counts.dropped)} reports were dropped: too many endpoints.`;
  return `${parts.join(", ")}.${dropped}`;
}

function listed(
  title: string,
  journeys: readonly Journey[],
  picture: Picture,
  options: SummaryOptions,
): readonly string[] {
  if (journeys.length === 0) return [];
  const columns = changeColumns({
    width: options.width,
    hops: shownHops(picture.tally, picture.asked),
    clusters: picture.clusters.map(({ cluster }) => visible(cluster)),
  });
  const context = lineContext(picture, options);
  return [
    "",
    options.paint.strong(title),
    headLine(columns, options.paint),
    ...journeys.map((journey) => changeLine(journey, columns, context)),
  ];
}

/** Limits of the numbers above. */
function caveats(picture: Picture, options: SummaryOptions): readonly string[] {
  const { tally, clusters, notes } = picture;
  const inexact =
    tally.inexact === 0
      ? []
      : [
          `${counted(tally.inexact, "change")} with an unknown start time: not in the numbers above. ` +
            "Causes: the change began before watch started; it came from a list; the watch was less " +
            "than 2 s old or was behind",
        ];
  const troubled = clusters.flatMap((one) => {
    const { text, tone } = conditionOf(one, picture);
    return tone === "plain" ? [] : [`${visible(one.cluster)}: ${text}`];
  });
  const lost = clusters.flatMap((one) => one.lost.map(({ sentence }) => visible(sentence)));
  const all = [...inexact, ...lost, ...troubled, ...notes.map(visible)];
  if (all.length === 0) return [];
  return [
    "",
    options.paint.strong("Notes"),
    ...all.flatMap((text) => paragraph(text, options, "· ")),
  ];
}

function paragraph(text: string, { width }: SummaryOptions, first = ""): readonly string[] {
  return wrapText(text, { width, first, rest: " ".repeat(first.length) });
}
