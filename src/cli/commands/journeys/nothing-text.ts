// What is said when a history has none of the changes that were asked for: whether another time
// would help, or another name.
import { nearestNames } from "../../../decide/nearest-names.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { WallMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { HistoryQuery } from "../../../history/history-query.ts";
import type { HistoryReader } from "../../../history/history-reader.ts";
import type { JourneyRecord } from "../../../timeline/journey-record.ts";

export interface NothingAsked {
  /** What was asked for beside the time. */
  readonly kind: HistoryQuery;
  /** `in the last 1h`. */
  readonly when: string;
  readonly hasEnd: boolean;
  readonly nowMs: WallMs;
}

type Reader = Pick<HistoryReader, "records">;

/** A history may have millions; those of late have the names that matter, and take no time. */
const looksAtMost = 5_000;

/** More names than this nobody reads. */
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

/** Undefined when no such name was asked for, or the history has it. */
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
