// Runs `lockstep journeys`: reads the history, also while an observer writes it, and prints lines and
// figures for people, or the records as JSON.
import type { WallMs } from "../../../environment/clock.ts";
import {
  defaultHistoryPath,
  defaultHistoryPathText,
} from "../../../history/default-history-path.ts";
import { HistoryError } from "../../../history/history-error.ts";
import type { HistoryQuery } from "../../../history/history-query.ts";
import type { HistoryReader } from "../../../history/history-reader.ts";
import type { JourneyRecord } from "../../../timeline/journey-record.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { instantOf, type TimeGiven } from "../../flags.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import { typedCommand } from "../../typed-command.ts";
import { defaultLimit, type JourneysFlags } from "./command.ts";
import { journeyList, KeptTally, keptJourney, nothingText } from "./view.ts";

/** The default of `lockstep watch --slow`. */
const slowMs = 2_000;

/** Records between two checks for Ctrl-C. */
const breatheEvery = 2_000;

export async function runJourneys(
  context: CommandContext,
  flags: JourneysFlags,
): Promise<ExitCode> {
  const { environment, stop } = context;
  const path = flags.history ?? defaultHistoryPath(environment.processes);
  if (path === undefined) {
    throw new UsageError(
      `HOME is not set, so the default history file ${defaultHistoryPathText} is not available. ` +
        "Give --history FILE.",
    );
  }
  const nowMs = environment.clock.wallMs();
  const query = { ...timeOf(flags, nowMs), ...kindOf(flags) };
  try {
    // Only this command loads the database, because that takes longer than loading all the rest.
    const { HistoryReader } = await import("../../../history/history-reader.ts");
    const reader = await HistoryReader.open({ files: environment.files, path });
    try {
      if (flags.json) await printRecords(context, reader, query, flags);
      else await printList(context, reader, query, { ...flags, nowMs });
      if (reader.damaged > 0) context.terminal.writeError(damagedText(reader.damaged));
    } finally {
      reader.close();
    }
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    throw new UsageError(`${error.message}${remedyOf(error, environment, path)}`, { cause: error });
  }
  return stop.aborted ? 2 : 0;
}

/** The command that creates or upgrades the history. */
function remedyOf(
  { code }: HistoryError,
  { processes }: CommandContext["environment"],
  path: string,
): string {
  const command = typedCommand(processes, `watch --history ${path}`);
  if (code === "MISSING") return `. \`${command}\` creates it.`;
  return code === "OLDER" ? `. Run \`${command}\` once to upgrade it.` : "";
}

async function printRecords(
  { terminal, environment, stop }: CommandContext,
  reader: HistoryReader,
  query: HistoryQuery,
  flags: JourneysFlags,
): Promise<void> {
  let printed = 0;
  for (const record of wanted(reader, query, flags, flags.limit)) {
    terminal.write(`${jsonLine(record)}\n`);
    printed += 1;
    if (printed % breatheEvery === 0) await environment.timers.breathe();
    if (stop.aborted) return;
  }
}

async function printList(
  { terminal, environment, stop }: CommandContext,
  reader: HistoryReader,
  query: HistoryQuery,
  flags: JourneysFlags & { readonly nowMs: WallMs },
): Promise<void> {
  const { nowMs, utc, limit = defaultLimit } = flags;
  const tally = new KeptTally();
  for (const record of reader.records(query, { order: "oldest first" })) {
    tally.add(keptJourney(record));
    if (tally.count % breatheEvery === 0) await environment.timers.breathe();
    if (stop.aborted) return;
  }
  if (tally.count === 0) {
    const asked = { kind: kindOf(flags), when: whenText(flags), hasEnd: flags.until !== undefined };
    terminal.write(`${nothingText(reader, { ...asked, nowMs })}\n`);
    return;
  }
  const paint = paintFor(terminal);
  const width = terminal.columns;
  const records = [...wanted(reader, query, flags, limit)];
  const left = tally.count - records.length;
  const which = flags.slowest ? "slowest" : "latest";
  const lines = [
    ...journeyList(records, tally, { nowMs, width, slowMs, utc, paint }),
    "",
    ...wrapText(tally.sentence(whenText(flags)), { width }),
    ...(left === 0
      ? []
      : [`Only the ${which} ${numberText(records.length)} are shown. Use --limit for more.`]),
    "",
    ...tally.table({ width, slowMs, paint }),
  ];
  terminal.write(`${lines.join("\n")}\n`);
}

/** The latest, oldest first; or the slowest, slowest first. */
function wanted(
  reader: HistoryReader,
  query: HistoryQuery,
  { slowest }: JourneysFlags,
  limit: number | undefined,
): Iterable<JourneyRecord> {
  const limited = limit === undefined ? {} : { limit };
  if (slowest) return reader.records(query, { order: "slowest first", ...limited });
  if (limit === undefined) return reader.records(query, { order: "oldest first" });
  return [...reader.records(query, { order: "latest first", limit })].reverse();
}

function timeOf({ since, until }: JourneysFlags, nowMs: WallMs): HistoryQuery {
  const from = instantOf(since, nowMs);
  if (until === undefined) return { since: from };
  const to = instantOf(until, nowMs);
  if (to > from) return { since: from, until: to };
  throw new UsageError(`--until ${until.text} must be later than --since ${since.text}.`);
}

function kindOf(flags: JourneysFlags): HistoryQuery {
  const { service, cluster, direction, stuck, slowerThan: slowerThanMs } = flags;
  return {
    ...(service !== undefined && { service }),
    ...(cluster !== undefined && { cluster }),
    ...(direction !== undefined && { direction }),
    ...(stuck && { stuck }),
    ...(slowerThanMs !== undefined && { slowerThanMs }),
  };
}

function damagedText(count: number): string {
  const what = count === 1 ? "1 change is" : `${numberText(count)} changes are`;
  return `lockstep: ${what} not shown: the history is damaged there.\n`;
}

/** `in the last 1h`, `since 2026-03-01T12:00:00Z until 2h ago`. */
function whenText({ since, until }: JourneysFlags): string {
  const from = since.type === "duration" ? `in the last ${since.text}` : `since ${since.text}`;
  return until === undefined ? from : `${from} until ${endText(until)}`;
}

function endText({ type, text }: TimeGiven): string {
  return type === "duration" ? `${text} ago` : text;
}
