// The evidence in a log for requests about published endpoints that waited for the client's own
// limit.
import type { LogEvidence } from "./evidence.ts";
import { type KlogLine, parseKlogLine } from "./klog.ts";
import {
  isEndpointsRequest,
  parseThrottlingLine,
  type ThrottledRequest,
} from "./throttling-lines.ts";

export interface ThrottlingLog {
  readonly log: LogEvidence;
  readonly count: number;
  readonly medianWaitMs: number;
  readonly maxWaitMs: number;
  /** The one that waited longest, and its line. */
  readonly longest: ThrottledRequest;
  readonly longestLine: number;
  /** From the first to the last; lines carry no date to speak of, so at most a day. */
  readonly spanMs: number;
}

const dayMs = 24 * 3_600_000;

interface Entry {
  readonly request: ThrottledRequest;
  readonly line: number;
  readonly klog: KlogLine;
}

/** Undefined when there is no such line. */
export function throttlingLog(log: LogEvidence): ThrottlingLog | undefined {
  const entries = entriesOf(log);
  const waits = entries.map(({ request }) => request.waitMs).sort((a, b) => a - b);
  const medianWaitMs = waits[Math.floor(waits.length / 2)];
  const maxWaitMs = waits.at(-1);
  const longest = entries.find(({ request }) => request.waitMs === maxWaitMs);
  if (medianWaitMs === undefined || maxWaitMs === undefined || longest === undefined) {
    return undefined;
  }
  return {
    log,
    count: entries.length,
    medianWaitMs,
    maxWaitMs,
    longest: longest.request,
    longestLine: longest.line,
    spanMs: spanOf(entries),
  };
}

function entriesOf(log: LogEvidence): readonly Entry[] {
  return log.lines.flatMap((text, index) => {
    const klog = parseKlogLine(text);
    const request = klog && parseThrottlingLine(klog);
    if (klog === undefined || request === undefined || !isEndpointsRequest(request)) return [];
    return [{ request, line: (log.firstLine ?? 1) + index, klog }];
  });
}

/** Time of day only: past midnight it starts again. */
function spanOf(entries: readonly Entry[]): number {
  const first = entries[0]?.klog.timeOfDayMs ?? 0;
  const last = entries.at(-1)?.klog.timeOfDayMs ?? 0;
  return (last - first + dayMs) % dayMs;
}
