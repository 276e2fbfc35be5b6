// `lockstep journeys`: what a history has kept, for people as lines and figures, for machines as the
// records themselves. It reads while an observer writes.
import { Command, InvalidArgumentError, Option } from "commander";
import type { WallMs } from "../environment/clock.ts";
import { parseGoDuration } from "../environment/go-duration.ts";
import { defaultHistoryPath, defaultHistoryPathText } from "../history/default-history-path.ts";
import { HistoryError } from "../history/history-error.ts";
import type { HistoryQuery } from "../history/history-query.ts";
import type { HistoryReader } from "../history/history-reader.ts";
import type { JourneyRecord } from "../timeline/journey-record.ts";
import type { Direction } from "../timeline/witness.ts";
import { type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { helpText } from "./help-text.ts";
import { type AskedTime, askedTime, instantOf, sinceText } from "./journeys/asked-time.ts";
import { journeyList } from "./journeys/journey-list.ts";
import { keptJourney } from "./journeys/kept-journey.ts";
import { KeptTally } from "./journeys/kept-tally.ts";
import { nothingText } from "./journeys/nothing-text.ts";
import { jsonLine } from "./json-line.ts";
import { paintFor } from "./terminal/paint.ts";
import { numberText } from "./terminal/value-text.ts";
import { wrapText } from "./terminal/wrapped-text.ts";
import { typedCommand } from "./typed-command.ts";
import { wholeNumber } from "./whole-number.ts";

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
A history is kept by \`lockstep watch --history\`. The file is $XDG_STATE_HOME/lockstep/history.db,
and ~/.local/state/lockstep/history.db where that is not set, unless another is named. A change is
kept when it is over, and while it is stuck.

Lines, signs and hops are those of \`lockstep watch\`; the figures below them are of every change
asked for, also of those that --limit leaves out: for leaves and joins how many the hop showed, the
median, the worst of a hundred and the longest. ✗? is a hop where the change was stuck when the
observer ended: what became of it is unknown.

--json prints the records, oldest first, one object a line: as \`lockstep watch --json\` has them under
"journey", without a limit unless one is given.

Examples:
  lockstep journeys
  lockstep journeys --since 7d --stuck
  lockstep journeys --service shop/web --since 2026-03-01T12:00:00Z
  lockstep journeys --since 1d --slowest --limit 20
  lockstep journeys --slower-than 10s --json | jq -r .podName`;

export function journeysCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("journeys")
    .description("show what was kept of changes and how long each hop took")
    .option("--history <file>", `instead of ${defaultHistoryPathText}`)
    .addOption(
      new Option("--since <time>", "how long ago, or when")
        .argParser(askedTime)
        .default(askedTime("1h"), "1h"),
    )
    .option("--until <time>", "how long ago, or when", askedTime)
    .option("--service <namespace/name>", "only this one")
    .option("--cluster <name>", "only this one, as the observer calls it")
    .addOption(new Option("--direction <way>", "only one").choices(["join", "leave"]))
    .option("--stuck", "only what was stuck at a hop, then or still", false)
    .option("--slower-than <time>", "only what some hop showed so late, or not at all", slowerThan)
    .option("--slowest", "the slowest first, not the oldest", false)
    .option(
      "--limit <n>",
      `so many lines (default: ${defaultLimit}, with --json all)`,
      wholeNumber(1, limitMost),
    )
    .option("--json", "print records, one JSON object a line", false)
    .option("--utc", "times of day in UTC", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: JourneysFlags) => done(await runJourneys(context, flags)));
}

async function runJourneys(context: CommandContext, flags: JourneysFlags): Promise<ExitCode> {
  const { environment, stop } = context;
  const path = flags.history ?? defaultHistoryPath(environment.processes);
  if (path === undefined) {
    throw new UsageError(
      `The history is ${defaultHistoryPathText} unless a file is named, and there is no home: ` +
        "give --history FILE.",
    );
  }
  const nowMs = environment.clock.wallMs();
  const query = { ...timeOf(flags, nowMs), ...kindOf(flags) };
  try {
    // The database is loaded by this command alone: it takes longer than all the others' parts.
    const { HistoryReader } = await import("../history/history-reader.ts");
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
  if (code === "MISSING") return `. \`${command}\` keeps changes there.`;
  return code === "OLDER" ? `. Run \`${command}\` once, which brings it up to date.` : "";
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
      : [`The ${which} ${numberText(records.length)} are shown; --limit shows more.`]),
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
  return `lockstep: ${what} left out: the history is damaged there.\n`;
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
  throw new UsageError(`--until ${until.text} is not after --since ${since.text}.`);
}

function kindOf(flags: JourneysFlags): HistoryQuery {
  const { service, cluster, direction, stuck, slowerThan: slowerThanMs } = flags;
  if (service !== undefined && !/^[^/]+\/[^/]+$/.test(service)) {
    throw new UsageError(`--service ${service}: it must be NAMESPACE/NAME, such as shop/web.`);
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
