// One request with spans, and what its answer means. Retried is what the protocol says may be: 429,
// 502, 503 and 504, and a connection that failed; any other refusal would come again.
import type { Environment } from "../environment/environment.ts";
import { type IncomingResponse, NetworkError } from "../environment/network.ts";
import { Deadline } from "../kube/client/deadline.ts";
import { readBounded } from "../kube/client/http-client-body.ts";
import type { ObserverRun } from "../timeline/journey-record.ts";
import { type OtlpSpan, type ResourceSpans, traceRequest } from "./otlp-json.ts";
import type { OtlpTarget } from "./otlp-target.ts";

export interface QueuedSpan {
  readonly cluster: string | null;
  readonly span: OtlpSpan;
}

export type PostResult =
  /** The receiver may have left some of them out. */
  | { readonly type: "taken"; readonly rejected: number }
  | { readonly type: "refused"; readonly detail: string }
  /** Not now; `afterMs` where the receiver says when. */
  | { readonly type: "later"; readonly detail: string; readonly afterMs?: number };

export interface PostOptions extends Pick<Environment, "timers" | "network"> {
  readonly target: OtlpTarget;
}

/** A request's body, however often it is sent. */
export interface EncodedSpans {
  readonly body: Uint8Array;
  readonly spans: number;
}

const retryable: readonly number[] = [429, 502, 503, 504];

/** An answer is a few words; of an error page the beginning says enough. */
const answerMaxBytes = 64 * 1024;
const detailMaxLength = 200;

/** A receiver that asks for a longer rest is asked again all the same. */
const longestRestMs = 60_000;

export function encodeSpans(spans: readonly QueuedSpan[], run: ObserverRun): EncodedSpans {
  const request = JSON.stringify(traceRequest(resourcesOf(spans, run)));
  return { body: Buffer.from(request, "utf8"), spans: spans.length };
}

export async function postSpans(
  { timers, network, target }: PostOptions,
  { body, spans }: EncodedSpans,
  signal: AbortSignal,
): Promise<PostResult> {
  const { url, headers, timeoutMs } = target;
  const deadline = new Deadline({ timers, deadlineMs: timeoutMs, signal, what: `POST ${url}` });
  try {
    const response = await network.request({
      method: "POST",
      url,
      headers: { ...headers, "content-type": "application/json" },
      body,
      signal: deadline.signal,
    });
    const answer = await readBounded(response.body, answerMaxBytes, `POST ${url}`, "cut");
    return resultOf(response, answer.toString("utf8"), spans);
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    // The network says that it was aborted; why is what people need to know.
    const reason: unknown = deadline.signal.reason;
    return { type: "later", detail: reason instanceof Error ? reason.message : error.message };
  } finally {
    deadline.release();
  }
}

function resultOf(
  { status, headers }: Pick<IncomingResponse, "status" | "headers">,
  body: string,
  spans: number,
): PostResult {
  if (status >= 200 && status < 300) return { type: "taken", rejected: rejectedIn(body, spans) };
  const detail = `${status} ${body.slice(0, detailMaxLength).trim()}`.trim();
  if (!retryable.includes(status)) return { type: "refused", detail };
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  if (!(seconds >= 0)) return { type: "later", detail };
  return { type: "later", detail, afterMs: Math.min(seconds * 1_000, longestRestMs) };
}

/** `{"partialSuccess":{"rejectedSpans":"2"}}`; anything else means that all were taken. */
function rejectedIn(body: string, spans: number): number {
  const count = /"rejectedSpans"\s*:\s*"?(\d{1,9})/.exec(body)?.[1];
  return Math.min(Number(count ?? 0), spans);
}

/** A resource for each cluster, so that a trace store can group and filter by it. */
function resourcesOf(spans: readonly QueuedSpan[], run: ObserverRun): readonly ResourceSpans[] {
  const byCluster = new Map<string | null, OtlpSpan[]>();
  for (const { cluster, span } of spans) {
    const known = byCluster.get(cluster);
    if (known === undefined) byCluster.set(cluster, [span]);
    else known.push(span);
  }
  return [...byCluster].map(([cluster, own]) => ({
    resource: {
      "service.name": "lockstep",
      "service.instance.id": run.name,
      "k8s.cluster.name": cluster,
    },
    spans: own,
  }));
}
