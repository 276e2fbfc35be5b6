// Runs `lockstep blame`: loads the saved state of the clusters, reads the access logs and judges each
// failed request. It needs no cluster.
import { resolve as absolute } from "node:path";
import {
  AccessLogFileError,
  fileChunks,
  plainChunks,
  type ReadProblem,
} from "../../../access-log/file-chunks.ts";
import { type BlamedLog, blameLog } from "../../../blame/blame-log.ts";
import { BlameTally } from "../../../blame/blame-summary.ts";
import type { RequestVerdict } from "../../../blame/verdict.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import type { WallMs } from "../../../environment/clock.ts";
import { FilesError } from "../../../environment/files.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, instantOf } from "../../flags.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { reportColumns } from "../../terminal/text.ts";
import { typedCommand } from "../../typed-command.ts";
import type { BlameFlags } from "./command.ts";
import { type LoadedEvidence, loadEvidence } from "./evidence.ts";
import {
  blameLines,
  isNothingUnderstood,
  logLimits,
  logNotes,
  summaryLine,
  verdictLine,
} from "./view.ts";

export async function runBlame(context: CommandContext, flags: BlameFlags): Promise<ExitCode> {
  const { environment } = context;
  if (flags.recording.length + flags.objects.length === 0) {
    const help = typedCommand(environment.processes, "blame --help");
    throw new UsageError(`give --recording or --objects with data about the pods; see ${help}`);
  }
  const bounds = boundsOf(flags, environment.clock.wallMs());
  return asUsage([FilesError, AccessLogFileError], async () => {
    const { recording: recordings, objects, cluster: clusters } = flags;
    const recordCommand = typedCommand(environment.processes, "record");
    const asked = { recordings, recordCommand, objects, clusters };
    const loaded = await loadEvidence(environment.files, asked, context.stop);
    return judge(context, { ...flags, bounds }, loaded);
  });
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

async function judge(
  context: CommandContext,
  { bounds, logFormat: format, ...flags }: BlameFlags & { readonly bounds: Bounds },
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
  terminal.write(
    `${blameLines(report, { width: reportColumns(terminal), paint: paintFor(terminal) }).join("\n")}\n`,
  );
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
