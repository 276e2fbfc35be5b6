// The verdicts for machines: a JSON object a line, one for each request as it is judged, and at the
// end one with the summary.
import type { BlameSummary } from "../../../blame/blame-summary.ts";
import type { Moment } from "../../../blame/pod-life.ts";
import type { Span } from "../../../blame/span.ts";
import { type RequestVerdict, staleCauses, type TryVerdict } from "../../../blame/verdict.ts";
import { verdictSentences } from "../../../blame/verdict-text.ts";
import { jsonLine } from "../../terminal/json-line.ts";

/** Of both kinds of line; fields may be added under one number. */
const documentVersion = 1;

export function verdictLine(verdict: RequestVerdict): string {
  const { cause, endedMs, tries, because } = verdict;
  return jsonLine({
    type: "verdict",
    version: documentVersion,
    ...verdict,
    endedMs: undefined,
    at: iso(endedMs),
    isStale: staleCauses.has(cause),
    because: because === "" ? undefined : because,
    text: verdictSentences(verdict),
    tries: tries.map(tryDocument),
  });
}

export interface WholeSummary extends BlameSummary {
  /** Requests in the logs, whatever became of them. */
  readonly all: number;
  /** What was left out because there was too much of it, each in a sentence. */
  readonly limits: readonly string[];
}

export function summaryLine(summary: WholeSummary): string {
  const { requests, stale, all, causes, limits } = summary;
  return jsonLine({
    type: "summary",
    version: documentVersion,
    requestsInLogs: all,
    requests,
    stale,
    limits,
    causes: causes.map(({ firstMs, lastMs, worst, ...cause }) => ({
      ...cause,
      isStale: staleCauses.has(cause.cause),
      first: iso(firstMs),
      last: iso(lastMs),
      worst: { file: worst.file, line: worst.line },
    })),
  });
}

function tryDocument(verdict: TryVerdict): object {
  const { sent, left, dead, because } = verdict;
  return {
    ...verdict,
    sent: spanDocument(sent),
    left: left && momentDocument(left),
    dead: dead && momentDocument(dead),
    because: because === "" ? undefined : because,
  };
}

function momentDocument({ what, at, shownMs }: Moment): object {
  return { what, ...spanDocument(at), shown: iso(shownMs) };
}

function spanDocument({ fromMs, toMs }: Span): object {
  return { from: iso(fromMs), to: iso(toMs) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
