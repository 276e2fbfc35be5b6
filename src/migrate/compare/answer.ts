// One answer of a proxy, reduced to what is compared. The body is a hash: nothing of it is kept.
import { createHash } from "node:crypto";
import { type Headers, type Network, NetworkError } from "../../environment/network.ts";
import type { Timers } from "../../environment/timers.ts";
import { DeadlineExceededError } from "../../kube/client/client.ts";
import { Deadline } from "../../kube/client/deadline.ts";
import type { PlannedRequest } from "./planned-request.ts";

export type Answer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly headers: Headers;
      readonly bytes: number;
      /** SHA-256 of the body, or of its beginning. */
      readonly hash: string;
      /** The body is longer than what was read. */
      readonly isCut: boolean;
    }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

export interface Side {
  /** `https://10.0.0.1:8443`, without a path. */
  readonly base: string;
  readonly insecure: boolean;
}

export interface AskOptions {
  readonly network: Network;
  readonly timers: Timers;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

export async function ask(
  { base, insecure }: Side,
  { method, host, target }: PlannedRequest,
  options: AskOptions,
): Promise<Answer> {
  const { network, timers, timeoutMs, maxBodyBytes, userAgent, signal } = options;
  const what = `${method} ${base}`;
  const deadline = new Deadline({ timers, deadlineMs: timeoutMs, signal, what });
  try {
    const { status, headers, body } = await network.request({
      method,
      url: `${base}${target}`,
      headers: { host, accept: "*/*", "user-agent": userAgent },
      tls: { serverName: host, ...(insecure && { insecureSkipVerify: true }) },
      connectTimeoutMs: timeoutMs,
      signal: deadline.signal,
    });
    return { kind: "answered", status, headers, ...(await digest(body, maxBodyBytes)) };
  } catch (error) {
    signal.throwIfAborted();
    return failureOf(error);
  } finally {
    deadline.release();
  }
}

/** A body without end is left once enough of it was read. */
async function digest(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly bytes: number; readonly hash: string; readonly isCut: boolean }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of body) {
    const room = maxBytes - bytes;
    const part = chunk.subarray(0, room);
    hash.update(part);
    bytes += part.byteLength;
    if (chunk.byteLength > room) return { bytes, hash: hash.digest("hex"), isCut: true };
  }
  return { bytes, hash: hash.digest("hex"), isCut: false };
}

function failureOf(error: unknown): Answer {
  if (error instanceof NetworkError && error.cause instanceof DeadlineExceededError) {
    return { kind: "failed", code: "TIMEOUT", message: "no answer in time" };
  }
  if (error instanceof DeadlineExceededError) {
    return { kind: "failed", code: "TIMEOUT", message: "no answer in time" };
  }
  if (!(error instanceof NetworkError)) throw error;
  return { kind: "failed", code: error.code, message: error.message };
}
