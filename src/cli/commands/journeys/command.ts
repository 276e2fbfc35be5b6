// `lockstep journeys`: flags and help.
import { Command, Option } from "commander";
import { defaultHistoryPathText } from "../../../history/default-history-path.ts";
import type { Direction } from "../../../timeline/witness.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import {
  duration,
  filePath,
  serviceName,
  type TimeGiven,
  timeAgo,
  wholeNumber,
} from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runJourneys } from "./run.ts";

export interface JourneysFlags {
  readonly history?: string;
  readonly since: TimeGiven;
  readonly until?: TimeGiven;
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

/** One or two pages. */
export const defaultLimit = 50;

const limitMost = 10_000_000;

/** A longer lag is a mistake at the keyboard. */
const slowerThanMostMs = 3_650 * 24 * 3_600_000;

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
    .optionsGroup("Which changes:")
    .option("--history <file>", `history file (default: ${defaultHistoryPathText})`, filePath)
    .addOption(
      new Option("--since <time>", "start: 90s or 7d ago, or a time")
        .argParser(timeAgo)
        .default(timeAgo("1h"), "1h"),
    )
    .option("--until <time>", "end: 90s or 7d ago, or a time", timeAgo)
    .option("--service <namespace/name>", "only this service", serviceName)
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
      "only changes with at least this lag, or that never finished",
      duration({ toMs: slowerThanMostMs, days: true }),
    )
    .optionsGroup("Output:")
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
