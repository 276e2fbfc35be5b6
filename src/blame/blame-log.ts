// Judges every request of an access log that ended as asked for, as it is read: the log may be of
// any length.
import { accessLogEntries } from "../access-log/access-log-entries.ts";
import type { AccessLogEntry } from "../access-log/access-log-entry.ts";
import { AccessLogParser, type AccessLogReport } from "../access-log/access-log-parser.ts";
import type { LogFormat } from "../access-log/log-format.ts";
import type { Evidence } from "./evidence.ts";
import { judgeRequest } from "./judge-request.ts";
import type { RequestVerdict } from "./verdict.ts";

export interface BlameLogOptions {
  readonly evidence: Evidence;
  /** Shown in verdicts. */
  readonly file: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The one that the proxy was configured with; the known ones are tried too. */
  readonly format?: LogFormat | undefined;
  readonly statuses: ReadonlySet<number>;
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
  readonly skewMs: number;
  readonly onVerdict: (verdict: RequestVerdict) => void;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export interface BlamedLog {
  readonly report: AccessLogReport;
  /** Requests in the time asked for, whatever became of them. */
  readonly requests: number;
  /** Answered well after an endpoint that was tried before had failed. */
  readonly rescued: number;
}

export async function blameLog(options: BlameLogOptions): Promise<BlamedLog> {
  const { evidence, file, skewMs, statuses, onVerdict, signal } = options;
  const isService = (name: string): boolean => evidence.isService(name);
  const { format } = options;
  const parser = new AccessLogParser({ format, ...(evidence.hasServices && { isService }) });
  let requests = 0;
  let rescued = 0;
  for await (const entry of accessLogEntries(options.chunks, parser)) {
    signal.throwIfAborted();
    if (!isInTime(entry, options)) continue;
    requests += 1;
    if (isRescued(entry)) rescued += 1;
    if (statuses.has(entry.status)) onVerdict(judgeRequest(entry, { evidence, skewMs, file }));
  }
  return { report: parser.report, requests, rescued };
}

function isInTime({ endedMs }: AccessLogEntry, { sinceMs, untilMs }: BlameLogOptions): boolean {
  return endedMs >= (sinceMs ?? -Infinity) && endedMs <= (untilMs ?? Infinity);
}

const firstFailure = 500;

function isRescued({ status, tries }: AccessLogEntry): boolean {
  return status < firstFailure && tries.some((one) => (one.status ?? 0) >= firstFailure);
}
