// When the tries of a logged request were sent and over. A proxy writes a request down when it is
// over, often to the second only; a try was sent when those before it had ended. The clock of the
// proxy's machine may differ from the recorder's: by the skew that the caller grants, around an offset
// where one was found.
import type { AccessLogEntry } from "../access-log/access-log-entry.ts";
import { laterBy, type Span, widenedBy } from "./span.ts";

/** How the log's times relate to the clusters'. */
export interface LogClock {
  readonly skewMs: number;
  /** To be added to what the log says. */
  readonly offset?: Span | undefined;
}

export interface TryTimes {
  readonly sent: Span;
  readonly over: Span;
}

/** The possible and the most likely time of a try without its own time in the log. */
export interface LoggedTimes extends TryTimes {
  readonly likely?: TryTimes;
}

/** When the request was over. */
export function requestOver(entry: AccessLogEntry, { skewMs, offset }: LogClock): Span {
  const { endedMs, resolutionMs } = entry;
  const { fromMs, toMs } = offset ?? { fromMs: 0, toMs: 0 };
  const latestMs = endedMs + Math.max(0, resolutionMs - 1);
  return widenedBy({ fromMs: endedMs + fromMs, toMs: latestMs + toMs }, skewMs);
}

/** When it came in; without a duration in the log, when it was over. */
export function requestSent(entry: AccessLogEntry, clock: LogClock): Span {
  return laterBy(requestOver(entry, clock), -(entry.durationMs ?? 0));
}

/** In the order of the tries. */
export function triesTimes(entry: AccessLogEntry, clock: LogClock): readonly LoggedTimes[] {
  const over = requestOver(entry, clock);
  const tried = entry.tries.map(({ durationMs }) => durationMs ?? 0);
  const leftOutMs = entry.triesLeftOut?.durationMs ?? 0;
  const triedMs = tried.reduce((sum, ms) => sum + ms, leftOutMs);
  // Before the first try the proxy reads the request, after the last one it sends the answer.
  const restMs = Math.max(0, (entry.durationMs ?? triedMs) - triedMs);
  let sent = laterBy(over, -(entry.durationMs ?? triedMs));
  // The only one is sent as soon as the request has come, unless others before it go unsaid.
  const [only, ...others] = entry.tries;
  if (only !== undefined && others.length === 0 && only.durationMs === undefined) {
    return [{ sent: { fromMs: sent.fromMs, toMs: over.toMs }, over, likely: { sent, over } }];
  }
  return tried.map((ms, index) => {
    if (index > 0 && index === tried.length - 1) sent = laterBy(sent, leftOutMs);
    const times = {
      sent: { fromMs: sent.fromMs, toMs: sent.toMs + restMs },
      over: { fromMs: sent.fromMs + ms, toMs: sent.toMs + restMs + ms },
    };
    sent = laterBy(sent, ms);
    return times;
  });
}
