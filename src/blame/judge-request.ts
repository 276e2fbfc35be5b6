// The verdict on one request: the verdicts on its tries, or, without a try, the reason why the
// proxy had no endpoint to try.
import type { AccessLogEntry, LoggedTry } from "../access-log/access-log-entry.ts";
import type { Evidence } from "./evidence.ts";
import { judgeTry } from "./judge-try.ts";
import { judgeUntried } from "./judge-untried.ts";
import type { ProxyClock } from "./proxy-clock.ts";
import type { Span } from "./span.ts";
import { triesTimes } from "./try-time.ts";
import { causes, type RequestVerdict, staleCauses, type TryVerdict } from "./verdict.ts";

export interface JudgeOptions {
  readonly evidence: Evidence;
  /** How far the clocks of the proxy, the recorder and the clusters may differ. */
  readonly skewMs: number;
  /** By how much the log's clock is off, where that shows; then nothing is certain. */
  readonly clock?: ProxyClock;
  /** The file of the log, to find the line again. */
  readonly file: string;
}

export function judgeRequest(entry: AccessLogEntry, options: JudgeOptions): RequestVerdict {
  const { clock = { type: "agrees" } } = options;
  const verdict = judged(entry, options, clock.type === "off" ? clock.by : undefined);
  const isInDoubt = clock.type !== "agrees" || entry.isZoneGuessed === true || isSentUnknown(entry);
  return isInDoubt ? { ...unsure(verdict), tries: verdict.tries.map(unsure) } : verdict;
}

/** Without a duration, it may have been sent long before its line was written. */
export function isSentUnknown({ tries, durationMs }: AccessLogEntry): boolean {
  const isUnsaid = (tried: LoggedTry): boolean => tried.durationMs === undefined;
  return durationMs === undefined && tries.length > 0 && tries.every(isUnsaid);
}

function unsure<Verdict extends RequestVerdict | TryVerdict>(verdict: Verdict): Verdict {
  return verdict.confidence === "certain" ? { ...verdict, confidence: "likely" } : verdict;
}

function judged(
  entry: AccessLogEntry,
  { evidence, skewMs, file }: JudgeOptions,
  offset: Span | undefined,
): RequestVerdict {
  const { line, endedMs, status, method, host, target, service } = entry;
  const areTriesKnown = entry.triesUnknown === undefined;
  const triesLeftOut = entry.triesLeftOut?.count ?? 0;
  const asked = { file, line, endedMs, status, method, host, target };
  const request = { ...asked, triesLeftOut, areTriesKnown };
  if (entry.tries.length === 0) {
    return { ...request, tries: [], ...judgeUntried(entry, evidence, { skewMs, offset }) };
  }
  const times = triesTimes(entry, { skewMs, offset });
  const tries = entry.tries.flatMap((tried, index) => {
    const time = times[index];
    if (time === undefined) return [];
    const verdict = judgeTry({ evidence, tried, times: time, service, status });
    const { likely } = time;
    if (likely === undefined || verdict.confidence === "certain") return [verdict];
    return [unsure(judgeTry({ evidence, tried, times: likely, service, status }))];
  });
  const main = mainTry(tries);
  const isStale = main !== undefined && staleCauses.has(main.cause);
  const { cause = "unknown", because = "", late } = main ?? {};
  const isAgreed =
    triesLeftOut === 0 &&
    tries.every((one) => (isStale ? staleCauses.has(one.cause) : one.cause === cause));
  const confidence = main?.confidence ?? "cannot tell";
  return {
    ...request,
    service: service ?? main?.service,
    cause,
    // With an endpoint of which something else is true, that may have decided.
    confidence: isAgreed || confidence !== "certain" ? confidence : "likely",
    late,
    because,
    tries,
  };
}

/** The try that explains the request: one at a stale endpoint, and of those the one most late. */
function mainTry(tries: readonly TryVerdict[]): TryVerdict | undefined {
  const rank = ({ cause }: TryVerdict): number =>
    staleCauses.has(cause) ? -1 : causes.indexOf(cause);
  return tries.toSorted(
    (one, other) => rank(one) - rank(other) || (other.late?.mostMs ?? 0) - (one.late?.mostMs ?? 0),
  )[0];
}
