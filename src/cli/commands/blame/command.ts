// `lockstep blame`: why each failed request of an access log failed, from what was recorded or saved of
// the clusters. It needs no cluster.
import { resolve as absolute } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  AccessLogFileError,
  fileChunks,
  plainChunks,
  type ReadProblem,
} from "../../../access-log/file-chunks.ts";
import { LogFormat, LogFormatError } from "../../../access-log/log-format.ts";
import { type BlamedLog, blameLog } from "../../../blame/blame-log.ts";
import { BlameTally } from "../../../blame/blame-summary.ts";
import type { RequestVerdict } from "../../../blame/verdict.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { WallMs } from "../../../environment/clock.ts";
import { FilesError } from "../../../environment/files.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { repeatable } from "../../repeatable.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { timeFlag } from "../../time-flag.ts";
import { typedCommand } from "../../typed-command.ts";
import { wholeNumber } from "../../whole-number.ts";
import { type AskedTime, askedTime, instantOf } from "../journeys/asked-time.ts";
import { summaryLine, verdictLine } from "./blame-document.ts";
import { blameLines } from "./blame-lines.ts";
import { type LoadedEvidence, loadEvidence } from "./load-evidence.ts";
import { isNothingUnderstood, logLimits, logNotes } from "./log-notes.ts";

interface BlameFlags {
  readonly accessLog: readonly string[];
  readonly logFormat?: string;
  readonly recording: readonly string[];
  readonly objects: readonly string[];
  readonly cluster: readonly string[];
  readonly status: readonly number[];
  readonly since?: AskedTime;
  readonly until?: AskedTime;
  readonly skew: number;
  readonly lines: number;
  readonly json: boolean;
}

const defaultStatuses: readonly number[] = [502, 503, 504];

/** What machines that ask a time server differ by at the most. */
const defaultSkewMs = 100;

const skewMostMs = 3_600_000;

/** A screen; --json has all. */
const defaultLines = 5;
const linesMost = 100_000;

const widthMin = 80;
const widthMax = 120;

const epilogue = `
Each request with status 502, 503 or 504 gets a verdict. It names the pod behind the address, the time
since the pod was terminating or dead, and the late step with its delay. If the endpoint was not
stale, it names the other cause. Each verdict has a confidence: "certain" (no other explanation fits
the times), "likely" (another one is possible) or "cannot tell" (unknown, with the reason). Delays
that are not known exactly are printed as a range or as "at most". Large inputs are read with limited
memory. Skipped data is printed as "Limits reached" and is in the JSON summary as "limits".

Input data, at least one of:
  --recording FILE   recording of lockstep record or lockstep watch --record (best)
  --objects PATH     objects saved with kubectl, file or folder; cluster=PATH sets the name:
    kubectl get pods,svc,nodes,endpointslices,events -A -o json > objects.json
    kubectl cluster-info dump --all-namespaces --output-directory=dump
    kubectl get pods -A --watch --output-watch-events -o json > pods.json
    Several saves at different times and audit logs (level RequestResponse)
    help too. Saved objects contain only pods that existed at that time; for
    pods deleted between two saves the time is approximate.

Known access logs: nginx with upstream addresses, ingress-nginx, Envoy, Istio, Contour, Traefik,
APISIX, Kong, AWS ALB and JSON. They may be compressed with gzip or prefixed by kubectl logs, stern,
container log files and log stores. For other formats use --log-format with the log_format of nginx.

Exit codes: 0 success, 2 error or no line of the access logs has a known format.

Examples:
  lockstep blame --access-log access.log --recording pods.jsonl
  kubectl logs deploy/ingress-nginx-controller -n ingress-nginx |
    lockstep blame --access-log - --objects prod=objects.json
  lockstep blame --access-log a.log --recording pods.jsonl --status 499,502
  lockstep blame --access-log a.log --recording pods.jsonl --since 2h --json |
    jq 'select(.isStale)'`;

export function blameCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("blame")
    .description("find the cause of each failed request in an access log, offline")
    .requiredOption(
      "--access-log <file>",
      "access log of a proxy, - for standard input; repeatable",
      repeatable,
    )
    .option("--log-format <text>", "format of the access logs, as log_format of nginx")
    .option("--recording <file>", "recording of lockstep record; repeatable", repeatable, [])
    .option("--objects <path>", "objects saved with kubectl; repeatable", repeatable, [])
    .option("--cluster <name>", "only pods of this cluster; repeatable", repeatable, [])
    .addOption(
      new Option("--status <codes>", "status codes of the requests to judge")
        .argParser(statuses)
        .default(defaultStatuses, defaultStatuses.join(",")),
    )
    .option("--since <time>", "start: 2026-01-31T12:00:00Z, or 2h for two hours ago", askedTime)
    .option("--until <time>", "end, in the same form", askedTime)
    .addOption(
      new Option("--skew <time>", "maximum difference between the clocks of the machines")
        .argParser(timeFlag(skewMostMs))
        .default(defaultSkewMs, "100ms"),
    )
    .option(
      "--lines <n>",
      "number of requests to show besides the summary",
      wholeNumber(0, linesMost),
      defaultLines,
    )
    .option("--json", "print JSON, one object a line: every request, then the summary", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: BlameFlags) => done(await runBlame(context, flags)));
}

async function runBlame(context: CommandContext, flags: BlameFlags): Promise<ExitCode> {
  const { environment } = context;
  if (flags.recording.length + flags.objects.length === 0) {
    const help = typedCommand(environment.processes, "blame --help");
    throw new UsageError(`give --recording or --objects with data about the pods; see ${help}`);
  }
  const bounds = boundsOf(flags, environment.clock.wallMs());
  const format = formatOf(flags);
  try {
    const { recording: recordings, objects, cluster: clusters } = flags;
    const recordCommand = typedCommand(environment.processes, "record");
    const asked = { recordings, recordCommand, objects, clusters };
    const loaded = await loadEvidence(environment.files, asked, context.stop);
    return await judge(context, { ...flags, bounds, format }, loaded);
  } catch (error) {
    const isTold = error instanceof FilesError || error instanceof AccessLogFileError;
    throw isTold ? new UsageError(error.message, { cause: error }) : error;
  }
}

interface Bounds {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

function boundsOf({ since, until }: BlameFlags, nowMs: WallMs): Bounds {
  return {
    sinceMs: since && instantOf(since, nowMs),
    untilMs: until && instantOf(until, nowMs),
  };
}

function formatOf({ logFormat }: BlameFlags): LogFormat | undefined {
  try {
    return logFormat === undefined
      ? undefined
      : new LogFormat({ name: "--log-format", format: logFormat });
  } catch (error) {
    if (!(error instanceof LogFormatError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

async function judge(
  context: CommandContext,
  {
    bounds,
    format,
    ...flags
  }: BlameFlags & { readonly bounds: Bounds; readonly format: LogFormat | undefined },
  { evidence, notes, limits: evidenceLimits }: LoadedEvidence,
): Promise<ExitCode> {
  const { terminal, stop } = context;
  const progress = new ProgressLine({ terminal, clock: context.environment.clock });
  const tally = new BlameTally();
  const shown: RequestVerdict[] = [];
  const onVerdict = async (verdict: RequestVerdict): Promise<void> => {
    tally.add(verdict);
    if (flags.json) {
      progress.clear();
      terminal.write(`${verdictLine(verdict)}\n`);
      await terminal.drained?.(stop);
    } else if (shown.length < flags.lines) shown.push(verdict);
  };
  const blamed: BlamedLog[] = [];
  const logs: string[] = [];
  const limits = [...evidenceLimits];
  for (const file of flags.accessLog) {
    const broken: string[] = [];
    const chunks = chunksOf(context, file, ({ text, isLimit }) => {
      (isLimit ? limits : broken).push(`${text}.`);
    });
    const statuses = new Set(flags.status);
    const options = { evidence, file, chunks, format, statuses, skewMs: flags.skew, ...bounds };
    const onProgress = (count: number): void => {
      progress.show(`reading ${visible(file)}`, `${count.toLocaleString("en-US")} requests`);
    };
    const { timers } = context.environment;
    const log = await blameLog({ ...options, timers, onVerdict, onProgress, signal: stop });
    blamed.push(log);
    logs.push(...logNotes(file, log), ...broken);
    limits.push(...logLimits(file, log));
  }
  progress.clear();
  const summary = tally.summary();
  const requests = blamed.reduce((sum, log) => sum + log.requests, 0);
  const isUnderstood = !isNothingUnderstood(blamed);
  const code = isUnderstood ? 0 : 2;
  if (flags.json) {
    terminal.write(`${summaryLine({ ...summary, all: requests, limits })}\n`);
    for (const note of [...limits, ...notes, ...logs]) terminal.writeError(`${visible(note)}\n`);
    return code;
  }
  const width = Math.max(widthMin, Math.min(terminal.columns, widthMax));
  const report = {
    summary,
    statuses: inWords(flags.status),
    requests,
    isUnderstood,
    rescued: blamed.reduce((sum, log) => sum + log.rescued, 0),
    verdicts: shown,
    notes: [...notes, ...logs],
    limits,
  };
  terminal.write(`${blameLines(report, { width, paint: paintFor(terminal) }).join("\n")}\n`);
  return code;
}

function chunksOf(
  context: CommandContext,
  file: string,
  onBrokenOff: (problem: ReadProblem) => void,
): AsyncIterable<Uint8Array> {
  if (file !== "-") return fileChunks(context.environment.files, absolute(file), onBrokenOff);
  if (context.stdin !== undefined) return plainChunks(context.stdin(), file, onBrokenOff);
  throw new UsageError("no data on standard input: give the file of the access log instead of -");
}

/** `502, 503 or 504`. */
function inWords(codes: readonly number[]): string {
  const last = codes.at(-1);
  return codes.length < 2 ? String(last) : `${codes.slice(0, -1).join(", ")} or ${last}`;
}

function statuses(text: string): readonly number[] {
  const codes = text.split(",").map((code) => Number(code.trim()));
  if (codes.every((code) => Number.isInteger(code) && code >= 100 && code <= 599)) {
    return [...new Set(codes)].sort((one, other) => one - other);
  }
  throw new InvalidArgumentError("It must be status codes, such as 502,503,504.");
}
