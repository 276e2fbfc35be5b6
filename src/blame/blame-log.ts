// Judges every request of an access log that ended as asked for, as it is read: the log may be of
// any length. Requests wait for their verdict until so much has been read that a clock that is off
// shows; how many wait is bounded, and so is the size of each.
import { accessLogEntries } from "../access-log/access-log-entries.ts";
import type { AccessLogEntry } from "../access-log/access-log-entry.ts";
import { AccessLogParser, type AccessLogReport } from "../access-log/access-log-parser.ts";
import type { LogFormat } from "../access-log/log-format.ts";
import { allUnlessAborted } from "../access-log/until-aborted.ts";
import type { Timers } from "../environment/timers.ts";
import type { Evidence } from "./evidence.ts";
import { isSentUnknown, judgeRequest } from "./judge-request.ts";
import { type ProxyClock, ProxyClockWitness } from "./proxy-clock.ts";
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
  readonly timers: Pick<Timers, "breathe">;
  /** The next verdict is made when this has been taken. */
  readonly onVerdict: (verdict: RequestVerdict) => Promise<void>;
  /** Called now and then with how many requests were read. */
  readonly onProgress?: (requests: number) => void;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export interface BlamedLog {
  readonly report: AccessLogReport;
  /** Requests in the time asked for, whatever became of them. */
  readonly requests: number;
  /** Answered well after an endpoint that was tried before had failed. */
  readonly rescued: number;
  /** Judged requests of which not every try was. */
  readonly withTriesLeftOut: number;
  /** Whether the clock of the log agrees with the clusters, known at the end. */
  readonly clock: ProxyClock;
  /** Judged requests without a start time or a time zone in the log. */
  readonly inDoubt: { readonly withoutDuration: number; readonly withoutZone: number };
}

/** In an ordinary log all that failed: some 10 MB; 50 MB of the largest requests that are kept. */
const waitingMax = 10_000;

/** Some tens of milliseconds' work: Ctrl-C waits no longer. */
const breatheEvery = 200;

/** Some hundredths of a second's work. */
const progressEvery = 10_000;

export async function blameLog(options: BlameLogOptions): Promise<BlamedLog> {
  const { evidence, file, skewMs, statuses, onVerdict, signal } = options;
  const isService = (name: string): boolean => evidence.services.has(name);
  const { format } = options;
  const parser = new AccessLogParser({ format, ...(evidence.services.size > 0 && { isService }) });
  const witness = new ProxyClockWitness(evidence);
  const waiting: AccessLogEntry[] = [];
  const judgeWaiting = async (): Promise<void> => {
    const clock = witness.clock(skewMs);
    for (const [index, entry] of waiting.entries()) {
      if (index % breatheEvery === 0) await options.timers.breathe();
      signal.throwIfAborted();
      await onVerdict(judgeRequest(entry, { evidence, skewMs, clock, file }));
    }
    waiting.length = 0;
  };
  let requests = 0;
  let rescued = 0;
  let withTriesLeftOut = 0;
  const inDoubt = { withoutDuration: 0, withoutZone: 0 };
  const chunks = allUnlessAborted(options.chunks, signal);
  for await (const entry of accessLogEntries(chunks, parser)) {
    signal.throwIfAborted();
    witness.see(entry);
    if (!isInTime(entry, options)) continue;
    requests += 1;
    if (requests % progressEvery === 0) options.onProgress?.(requests);
    if (isRescued(entry)) rescued += 1;
    if (!statuses.has(entry.status)) continue;
    if (isSentUnknown(entry)) inDoubt.withoutDuration += 1;
    if (entry.isZoneGuessed === true) inDoubt.withoutZone += 1;
    if (entry.triesLeftOut !== undefined) withTriesLeftOut += 1;
    waiting.push(withOwnTexts(entry));
    if (waiting.length >= waitingMax) await judgeWaiting();
  }
  await judgeWaiting();
  const clock = witness.clock(skewMs);
  return { report: parser.report, requests, rescued, withTriesLeftOut, clock, inDoubt };
}

/** Pieces of a line keep all of it in memory; these are copies. */
function withOwnTexts(entry: AccessLogEntry): AccessLogEntry {
  return {
    ...entry,
    method: copied(entry.method),
    host: copied(entry.host),
    target: copied(entry.target),
    service: copied(entry.service),
    ...(entry.backend !== undefined && { backend: copied(entry.backend) }),
    ...(entry.triesUnknown !== undefined && { triesUnknown: copied(entry.triesUnknown) }),
    tries: entry.tries.map((one) => ({ ...one, address: copied(one.address) })),
  };
}

function copied<Text extends string | undefined>(text: Text): Text {
  return (text === undefined ? text : Buffer.from(text).toString()) as Text;
}

function isInTime({ endedMs }: AccessLogEntry, { sinceMs, untilMs }: BlameLogOptions): boolean {
  return endedMs >= (sinceMs ?? -Infinity) && endedMs <= (untilMs ?? Infinity);
}

const firstFailure = 500;

function isRescued({ status, tries }: AccessLogEntry): boolean {
  return status < firstFailure && tries.some((one) => (one.status ?? 0) >= firstFailure);
}
