// `lockstep journeys`: what a history has kept, for people as lines and figures, for machines as the
// records themselves. It reads while an observer writes.
import { Command, InvalidArgumentError, Option } from "commander";
import type { WallMs } from "../../../environment/clock.ts";
import { parseGoDuration } from "../../../environment/go-duration.ts";
import {
  defaultHistoryPath,
  defaultHistoryPathText,
} from "../../../history/default-history-path.ts";
import { HistoryError } from "../../../history/history-error.ts";
import type { HistoryQuery } from "../../../history/history-query.ts";
import type { HistoryReader } from "../../../history/history-reader.ts";
import type { JourneyRecord } from "../../../timeline/journey-record.ts";
import type { Direction } from "../../../timeline/witness.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import { paintFor } from "../../terminal/paint.ts";
import { numberText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { typedCommand } from "../../typed-command.ts";
import { wholeNumber } from "../../whole-number.ts";
import { type AskedTime, askedTime, instantOf, sinceText } from "./asked-time.ts";
import { journeyList } from "./journey-list.ts";
import { keptJourney } from "./kept-journey.ts";
import { KeptTally } from "./kept-tally.ts";
import { nothingText } from "./nothing-text.ts";

interface JourneysFlags {
  readonly history?: string;
  readonly since: AskedTime;
  readonly until?: AskedTime;
  readonly service?: string;
  readonly cluster?: string;
  readonly direction?: Direction;
  readonly stuck: boolean;
  readonly slowerThan?: number;
  readonly slowest: boolean;
  readonly limit?: number;
  readonly json: boolean;
  readonly utc: boolean;
}

/** A page or two. */
const defaultLimit = 50;
const limitMost = 10_000_000;

/** As `lockstep watch` has it unless told otherwise. */
const slowMs = 2_000;

/** So many records between two looks at whether to stop. */
const breatheEvery = 2_000;

const epilogue = `
\`lockstep watch --history\` writes the history. The default file is
$XDG_STATE_HOME/lockstep/history.db, or ~/.local/state/lockstep/history.db without that variable. It
contains finished changes and stuck changes.

Lines, signs and columns are those of \`lockstep watch\`. The table below them covers every matching
change, also those that --limit hides. It shows the count, median (p50), p99 and maximum of removals
and additions. ✗? is a change that was stuck when the observer ended; its result is unknown.

--json prints the records, oldest first, one object a line, without a limit unless --limit is given.
The format is the "journey" of \`lockstep watch --json\`.

Exit codes: 0 success, 2 error or stopped.

Examples:
  lockstep journeys
  lockstep journeys --since 7d --stuck
  lockstep journeys --service shop/web --since 2026-03-01T12:00:00Z
  lockstep journeys --since 1d --slowest --limit 20
  lockstep journeys --slower-than 10s --json | jq -r .podName`;

export function journeysCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("journeys")
    .description("show past endpoint changes and how long each step took")
    .option("--history <file>", `history file (default: ${defaultHistoryPathText})`)
    .addOption(
      new Option("--since <time>", "start: 90s or 7d ago, or a time")
        .argParser(askedTime)
        .default(askedTime("1h"), "1h"),
    )
    .option("--until <time>", "end: 90s or 7d ago, or a time", askedTime)
    .option("--service <namespace/name>", "only this one")
    .option("--cluster <name>", "only this cluster, by its name in lockstep watch")
    .addOption(
      new Option("--direction <way>", "only additions (join) or removals (leave)").choices([
        "join",
        "leave",
      ]),
    )
    .option("--stuck", "only changes that were or are stuck", false)
    .option(
      "--slower-than <time>",
      "only changes with a lag of at least this, or without end",
      slowerThan,
    )
    .option("--slowest", "slowest first instead of latest first", false)
    .option(
      "--limit <n>",
      `maximum lines (default: ${defaultLimit}, with --json all)`,
      wholeNumber(1, limitMost),
    )
    .option("--json", "print JSON, one object a line", false)
    .option("--utc", "print times in UTC", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: JourneysFlags) => done(await runJourneys(context, flags)));
}

async function runJourneys(context: CommandContext, flags: JourneysFlags): Promise<ExitCode> {
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
    // The database is loaded by this command alone: it takes longer than all the others' parts.
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

/** Where a writer would help, how it is called. */
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

/** Of many the latest, in the order in which they happened; or the slowest, in that order. */
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

function damagedText(count: number): string {
  const what = count === 1 ? "1 change is" : `${numberText(count)} changes are`;
  return `lockstep: ${what} not shown: the history is damaged there.\n`;
}

function whenText({ since, until }: JourneysFlags): string {
  if (until === undefined) return sinceText(since);
  return `${sinceText(since)} until ${until.type === "ago" ? `${until.text} ago` : until.text}`;
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
  if (service !== undefined && !/^[^/]+\/[^/]+$/.test(service)) {
    throw new UsageError(`--service must be namespace/name, such as shop/web, not "${service}".`);
  }
  return {
    ...(service !== undefined && { service }),
    ...(cluster !== undefined && { cluster }),
    ...(direction !== undefined && { direction }),
    ...(stuck && { stuck }),
    ...(slowerThanMs !== undefined && { slowerThanMs }),
  };
}

function slowerThan(text: string): number {
  const ms = parseGoDuration(text);
  if (ms !== undefined && ms >= 0) return ms;
  throw new InvalidArgumentError("It must be a time such as 500ms, 2s or 1m30s.");
}
